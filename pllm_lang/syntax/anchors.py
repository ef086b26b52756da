"""Names of the grammar rules whose nodes are anchors: they carry an absolute place and move as a whole."""

DECLARATIONS = frozenset(
    {
        "import_decl",
        "const_decl",
        "format_decl",
        "record_decl",
        "operator_decl",
        "component_decl",
        "policy_decl",
        "model_decl",
        "plan_decl",
        "block_decl",
    }
)
ITEMS = frozenset(
    {
        "field",
        "requires_item",
        "ensures_item",
        "means_item",
        "intermediate_item",
        "params_item",
        "protocol_item",
        "bundle_item",
        "needs_item",
        "learns_item",
        "adversary_item",
        "parties_item",
        "forbids_item",
        "claim_item",
    }
)
PROTOCOL_STATEMENTS = frozenset({"fresh_stmt", "local_stmt", "send_stmt"})
STATEMENTS = frozenset(
    {
        "input_stmt",
        "weight_stmt",
        "state_stmt",
        "step_stmt",
        "output_stmt",
        "repeat_stmt",
        "stage_stmt",
        "facts_stmt",
    }
)
# What a line begins with: here a parse resumes after a mistake.
LINES = DECLARATIONS | ITEMS | PROTOCOL_STATEMENTS | STATEMENTS | {"phase", "params_entry"}
ANCHORS = LINES | {"param", "result"}
