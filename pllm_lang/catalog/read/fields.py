"""Which fields and items a declaration of each kind may have: one table for reading, completion and docs.

`accepts` says what a value may be: `word` and `words` bare names; `text` and `texts` strings; `integer`,
`number`, `boolean`; `bytes`, `seconds`, `bits` a number with a unit of that dimension, or an expression;
`map`; `list`; `expression` anything; `operators`, `components`, `policy`, `plan`, `record` names of such
declarations, with arguments where they take some.
"""

from __future__ import annotations

import msgspec


class FieldSpec(msgspec.Struct, frozen=True):
    name: str
    accepts: str
    doc: str
    required: bool = False
    allowed: tuple[str, ...] = ()


COMPONENT_KINDS = (
    "method",
    "schedule",
    "pass",
    "role",
    "preparation",
    "state",
    "verification",
    "kernels",
    "metric",
)
# Instruction-set features that a machine can say it has. A word that is none of these is a slip: no kernel asks for it.
ISA = (
    *("sse2", "ssse3", "sse41", "sse42", "popcnt", "aes", "pclmul", "bmi2", "fma", "f16c", "avx", "avx2"),
    *("avx_vnni", "avx_vnni_int8", "avx_ifma", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd"),
    *("avx512_vnni", "avx512ifma", "avx512vbmi", "avx512_bf16", "avx512_fp16", "amx"),
    *("neon", "neon_dot", "neon_i8mm", "neon_fp16", "neon_bf16", "sve", "sve2", "sme", "rvv", "vsx"),
)
HOLDING_KINDS = ("additive", "replicated", "masked", "garbled", "encrypted", "boolean_shares", "shamir")
ADVERSARY_KINDS = ("semi_honest", "covert", "malicious")
SECURITY_SORTS = ("computational", "statistical")
# What a policy can forbid: components marked so, and what a proof may otherwise rest on.
FORBIDDABLE = (
    "experimental",
    "online_preparation",
    "assumed_ranges",
    "calibrated_ranges",
    "local_deployment",
    "unproved_primitives",
)
PHASES = ("benchmark", "model_lowering", "preparation", "compilation", "offline", "online", "runtime")

_ID = (
    FieldSpec("version", "text", "version of this record, compared as a version"),
    FieldSpec("source", "text", "where the facts of this record come from"),
)

FIELDS: dict[str, tuple[FieldSpec, ...]] = {
    "format": (
        FieldSpec("scale", "word", "axis along which values carry a scale of their own",
                  allowed=("row", "column", "tensor")),
        FieldSpec("bits", "integer", "storage width in bits, where it is not the one that the values need"),
    ),
    "holding": (
        FieldSpec("kind", "word", "how the pieces make the value", required=True,
                  allowed=HOLDING_KINDS),
        FieldSpec("n_parties", "expression", "how many parties hold pieces", required=True),
        FieldSpec("pieces", "map", "piece to the indices of the parties that hold it"),
        FieldSpec("value", "expression", "the value, rebuilt from the pieces"),
        FieldSpec("threshold", "expression", "the largest number of holders that together learn nothing"),
        FieldSpec("bits", "expression", "width of one piece in bits"),
    ),
    "operator": (
        FieldSpec("note", "text", "why the rules hold"),
        FieldSpec("structural", "boolean", "it only moves entries: it needs no component and may be nested"),
    ),
    "component": (
        FieldSpec("kind", "word", "what it is", required=True, allowed=COMPONENT_KINDS),
        *_ID,
        FieldSpec("implements", "operators", "operators that a method computes"),
        FieldSpec("gives", "map", "result to the format or holding it is given in"),
        FieldSpec("carrier", "expression", "the ring that it computes in"),
        FieldSpec("rounds", "word", "how results are rounded: to a neighbour on their format's grid",
                  allowed=("to_neighbour",)),
        FieldSpec("failure", "expression", "failure probability of one result entry in one call"),
        FieldSpec("primitive", "word", "what it assumes instead of a protocol text"),
        FieldSpec("roles", "words", "roles that parties take in it"),
        FieldSpec("phases", "words", "when it acts", allowed=PHASES),
        FieldSpec("n_parties", "expression", "how many parties it is good for: a number, a list or a range"),
        FieldSpec("adversaries", "words", "what it is secure against", allowed=ADVERSARY_KINDS),
        FieldSpec("reveals", "words", "what it discloses beyond its outputs"),
        FieldSpec("host_features", "texts", "features that the host must offer"),
        FieldSpec("memory", "bytes", "bytes that a party needs for one call"),
        FieldSpec("security", "map", "security level in bits, by sort", allowed=SECURITY_SORTS),
        FieldSpec("cost", "map", "rounds, bytes and material of one call"),
        FieldSpec("evidence", "list", "what shows that the record is true"),
        FieldSpec("assumptions", "list", "what it rests on"),
        FieldSpec("claims", "map", "what its authors claim, re-derived by the audit"),
        FieldSpec("constants", "map", "tables and coefficients of its formula"),
        FieldSpec("computes", "expression", "its formula over the reals, of one operand, for `pllm audit`"),
        FieldSpec("defects", "list", "known defects, by version and feature"),
        FieldSpec("properties", "words", "what a policy may forbid of it: experimental, online_preparation, ..."),
        FieldSpec("keeps", "words", "what a pass leaves unchanged"),
        FieldSpec("needs", "words", "what a pass asks of a model"),
        FieldSpec("own_params", "words", "parameters that the registry of the SDK does not know"),
        FieldSpec("category", "text", "category in the component registry of the SDK"),
        FieldSpec("category_version", "text", "version of that category"),
        FieldSpec("provider", "text", "who publishes it"),
        FieldSpec("distribution", "text", "the package that it comes in"),
        FieldSpec("capabilities", "texts", "what it offers, in the words of the registry"),
        FieldSpec("unit", "word", "unit of a metric"),
        FieldSpec("better", "word", "which direction of a metric is better", allowed=("lower", "higher")),
        FieldSpec("note", "text", "what else a reader should know"),
    ),
    "kernel": (
        *_ID,
        FieldSpec("operations", "words", "operations it offers", required=True),
        FieldSpec("variants", "words", "instruction sets that it has code for, best first", required=True),
        FieldSpec("threads", "expression", "how many threads it may use"),
        FieldSpec("memory", "bytes", "bytes it needs for one call"),
        FieldSpec("exact", "boolean", "whether results are exact"),
        FieldSpec("header", "text", "file in `cpp_kernels/` that holds it"),
        FieldSpec("backend", "components", "the kernel backend it belongs to"),
        FieldSpec("defects", "list", "known defects: versions, features, and when results are wrong"),
        FieldSpec("evidence", "list", "what shows that it is right"),
        FieldSpec("note", "text", "what else a reader should know"),
    ),
    "primitive": (
        *_ID,
        FieldSpec("kind", "word", "what sort of thing is assumed"),
        FieldSpec("ideal", "text", "its ideal behaviour", required=True),
        FieldSpec("assumption", "text", "what it rests on", required=True),
        FieldSpec("adversary", "words", "against whom", allowed=ADVERSARY_KINDS),
        FieldSpec("security", "expression", "security level in bits", required=True),
    ),
    "policy": (
        FieldSpec("security", "map", "least security level in bits, by sort", allowed=SECURITY_SORTS),
        FieldSpec("failure_budget", "expression", "largest probability that a run is wrong"),
        FieldSpec("error_budget", "expression", "largest absolute error of an output"),
        FieldSpec("independent", "list", "parties that nobody may administer together"),
        FieldSpec("versions", "map", "component id to the versions that are accepted"),
        FieldSpec("source", "text", "where the policy comes from"),
    ),
    "assurance": (
        FieldSpec("claim", "text", "what was shown", required=True),
        FieldSpec("outcome", "word", "how it ended", required=True),
        FieldSpec("refinement", "word", "which model was refined"),
        FieldSpec("of", "components", "components that it is about"),
        FieldSpec("tool", "text", "what showed it"),
        FieldSpec("version", "text", "version of what was looked at"),
        FieldSpec("assumptions", "texts", "what the result rests on"),
        FieldSpec("evidence", "texts", "digests of the evidence"),
        FieldSpec("date", "text", "when it was shown"),
    ),
    "pipeline": (
        FieldSpec("kernels", "components", "the kernel backend"),
        FieldSpec("preparation", "components", "who makes one-use material"),
        FieldSpec("inference", "components", "the remote role"),
        FieldSpec("verification", "components", "how results are verified"),
        FieldSpec("state", "components", "who keeps state between steps"),
        FieldSpec("linear", "components", "the method of linear layers"),
        FieldSpec("slots", "map", "components of the SDK's composition in slots that have no field here"),
        FieldSpec("profile", "text", "name of the same composition in the SDK"),
        FieldSpec("runtime", "map", "what the SDK says of how it runs"),
        FieldSpec("everything_else", "components", "the component of each operator that no slot names"),
        FieldSpec("outside_layers", "components", "what does the slots' operators before and after the layers"),
        FieldSpec("activations", "format", "what the operands of linear layers are quantised to"),
        FieldSpec("weights", "format", "what the weights of linear layers are stored as"),
        FieldSpec("source", "text", "where the composition comes from"),
    ),
    "suite": (
        FieldSpec("pipeline", "record", "the composition", required=True),
        FieldSpec("policy", "policy", "the policy it was published for"),
        FieldSpec("parties", "words", "its parties"),
        FieldSpec("targets", "map", "party to machine"),
        FieldSpec("source", "text", "where it was published"),
        FieldSpec("version", "text", "the version described"),
    ),
    "experiment": (
        FieldSpec("model", "expression", "the model: a declared one or `huggingface(\"config.json\")`"),
        FieldSpec("source", "expression", "where the SDK gets the model: `huggingface(\"Qwen/Qwen2.5-0.5B\")`"),
        FieldSpec("plan", "plan", "the plan, where it is written out"),
        FieldSpec("pipeline", "record", "the composition"),
        FieldSpec("deployment", "expression", "where the parties run"),
        FieldSpec("stock", "list", "inventories of one-use material that it draws on"),
        FieldSpec("budget", "map", "requests, tokens and other limits"),
        FieldSpec("measure", "list", "metrics"),
        FieldSpec("facts", "text", "facts file of the checkpoint"),
        FieldSpec("session", "text", "the session that it runs in"),
    ),
    "target": (
        FieldSpec("isa", "words", "instruction-set features", required=True, allowed=ISA),
        FieldSpec("memory", "bytes", "main memory", required=True),
        FieldSpec("cores", "count", "processor cores"),
        FieldSpec("ring_bits", "expression", "width of the ring that the runtime is built for"),
        FieldSpec("accelerators", "list", "accelerators with their memory"),
        FieldSpec("features", "texts", "host features it offers"),
        FieldSpec("os", "word", "operating system"),
        FieldSpec("note", "text", "what else a reader should know"),
    ),
    "deployment": (
        FieldSpec("kind", "word", "how parties are reached", allowed=("local", "remote")),
        FieldSpec("root", "text", "where a local deployment keeps its parties"),
        FieldSpec("hosts", "map", "party to target", required=True),
        FieldSpec("administered_by", "map", "party to who administers it"),
        FieldSpec("links", "map", "bandwidth and latency between parties"),
    ),
    "stock": (
        FieldSpec("of", "expression", "kind of material, with its ring", required=True),
        FieldSpec("count", "expression", "how many were issued", required=True),
        FieldSpec("provider", "expression", "party or component that made it", required=True),
        FieldSpec("ring_bits", "expression", "ring it was made for"),
        FieldSpec("weights", "text", "digest of the weights it was made for"),
        FieldSpec("session", "text", "session it was made for"),
        FieldSpec("fresh", "boolean", "whether it was never used before"),
    ),
    "sweep": (
        FieldSpec("over", "record", "the experiment that is varied", required=True),
        FieldSpec("grid", "map", "field to its values", required=True),
        FieldSpec("measure", "list", "metrics", required=True),
    ),
}  # fmt: skip

# Items that begin with a keyword, by kind of declaration.
ITEMS: dict[str, frozenset[str]] = {
    "format": frozenset(),
    "holding": frozenset(),
    "operator": frozenset({"requires", "ensures", "means"}),
    "component": frozenset({"requires", "ensures", "intermediate", "params", "protocol", "bundle"}),
    "kernel": frozenset({"params"}),
    "primitive": frozenset({"params"}),
    "policy": frozenset({"parties", "adversary", "learns", "claim", "forbids"}),
    "assurance": frozenset(),
    "pipeline": frozenset({"params"}),
    "suite": frozenset(),
    "experiment": frozenset(),
    "target": frozenset(),
    "deployment": frozenset(),
    "stock": frozenset(),
    "sweep": frozenset(),
}

# What to write instead of a field that seems to limit something: one that no check asks would be a limit on paper.
INSTEAD = {
    ("component", "domain"): 'write `requires max_abs(x) <= 4 else "why"`: that is asked of every step',
    ("component", "takes"): "say it of the format: `requires fraction_bits(x) == 18`",
    ("component", "material"): "write a `bundle` in the offline phase of its protocol",
    ("component", "formula"): "state `ensures error(y) <= ...`: how far it is from its operator",
    ("operator", "shape"): "write it in the signature, or as `requires`",
    ("operator", "reveals"): "a component says what it reveals",
    ("assurance", "scope"): "name the parameters that it is about: `of: [masked_linear(bits: 32)]`",
    ("kernel", "requires"): "say it of a parameter: `params { bits: integer in 1..51 }`",
    ("pipeline", "requires"): "say it of its parameters, or in the records of its components",
}

# A pipeline's fields may also be named after the operators that they cover.
OPEN_TO_OPERATORS = frozenset({"pipeline"})


def spec_of(kind: str, field: str) -> FieldSpec | None:
    return next((spec for spec in FIELDS[kind] if spec.name == field), None)
