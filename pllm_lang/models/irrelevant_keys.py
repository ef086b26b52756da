"""Keys known not to change what a decoder computes at inference, by reason. Any other unread key gets a
warning."""

from __future__ import annotations

_BOOKKEEPING = """
    _name_or_path _from_model_config _commit_hash _attn_implementation_autoset architectures auto_map
    transformers_version model_type tokenizer_class id2label label2id finetuning_task task_specific_params
    problem_type chat_template torchscript return_dict return_dict_in_generate output_attentions
    output_hidden_states output_scores output_router_logits use_cache use_bfloat16 tf_legacy_loss
    custom_pipelines unsloth_version unsloth_fixed is_llama_config transformers.js_config
    transformers_js_config
    mlc_config language_model_type is_decoder is_encoder_decoder prefix cache_implementation
    flash_attn flash_rotary fused_dense attn_implementation _flash_attn_2_enabled
    base_model_tp_plan ep_size pretraining_tp num_logits_to_keep logits_to_keep
    use_mamba_kernels use_kernels sdpa use_flash_attn use_flash_attention_2 init_device verbose
    vision_config audio_config projector_config img_processor
    runner_max_sequence_length tokenizer_name hf_repo datasets
"""

_TOKENS = """
    bos_token_id eos_token_id pad_token_id sep_token_id decoder_start_token_id image_token_id
    image_token_index
    video_token_id vision_start_token_id vision_end_token_id vision_token_id audio_token_id boa_token_id
    boi_token_id
    eoa_token_id eoa_token_index eoi_token_id boi_token_index eoi_token_index media_placeholder_token_id
    image_placeholder video_placeholder ignore_index forced_bos_token_id forced_eos_token_id
"""

_TRAINING = """
    initializer_range initializer_factor attention_dropout hidden_dropout dropout attn_pdrop embd_pdrop
    resid_pdrop
    emb_pdrop embed_dropout embedding_dropout resid_dropout activation_dropout summary_type summary_use_proj
    summary_activation summary_proj_to_labels summary_first_dropout router_aux_loss_coef router_z_loss_coef
    aux_loss_alpha seq_aux input_jitter_noise gradient_checkpointing rescale_prenorm_residual
    init_config classifier_dropout layerdrop output_dropout embedding_initializer_range
    block_mlp_init_scale block_out_init_scale block_use_xavier_init conv_use_xavier_init time_step_floor
    time_step_max moe_shared_expert_overlap
"""

_GENERATION = """
    add_cross_attention bad_words_ids begin_suppress_tokens chunk_size_feed_forward
    cross_attention_hidden_size
    diversity_penalty do_sample early_stopping encoder_no_repeat_ngram_size exponential_decay_length_penalty
    length_penalty max_length min_length no_repeat_ngram_size num_beam_groups num_beams num_return_sequences
    remove_invalid_values repetition_penalty suppress_tokens temperature tie_encoder_decoder top_k top_p
    typical_p
"""

_NUMERIC_FORMAT = """
    dtype torch_dtype attention_softmax_in_fp32 scale_attention_softmax_in_fp32 mamba_ssm_dtype
    mamba_ssm_cache_dtype moe_router_dtype residual_in_fp32 expert_dtype
"""

_DRAFT_HEADS = """
    num_nextn_predict_layers num_mtp_layers mtp_num_hidden_layers mtp_use_dedicated_embeddings use_mtp
    num_mtp_modules
    mtp_transformer_layers mtp_hybrid_override_pattern mtp_layers_block_type index_share_for_mtp_iteration
    mtp_loss_scaling_factor
"""

_SPLIT: tuple[tuple[str, str], ...] = (
    ("bookkeeping of tools", _BOOKKEEPING),
    ("token ids, read by the tokenizer and the sampler", _TOKENS),
    ("training only", _TRAINING),
    ("generation defaults", _GENERATION),
    ("number format of the checkpoint, not maths", _NUMERIC_FORMAT),
    ("draft layers, which the next-token logits do not use", _DRAFT_HEADS),
)

IRRELEVANT_KEYS: dict[str, str] = {key: reason for reason, keys in _SPLIT for key in keys.split()}
