/**
 * What a real llama-server answered: llama.cpp 0.7.0 (build 11669, Debian's package), on
 * 2026-11-22, with a model of random weights, `-c 512 --parallel 2 --alias tiny`. `router`: with
 * `--models-dir`, after one of its two models was called. Long lists of settings that nothing here
 * reads are left out.
 */
export const LLAMA_CPP = {
  models: {
    models: [
      {
        name: 'tiny',
        model: 'tiny',
        modified_at: '',
        size: '',
        digest: '',
        type: 'model',
        description: '',
        tags: [''],
        capabilities: ['completion'],
        parameters: '',
        details: {
          parent_model: '',
          format: 'gguf',
          family: '',
          families: [''],
          parameter_size: '',
          quantization_level: '',
        },
      },
    ],
    object: 'list',
    data: [
      {
        id: 'tiny',
        aliases: ['tiny'],
        tags: [],
        object: 'model',
        architecture: {
          input_modalities: ['text'],
          output_modalities: ['text'],
        },
        created: 1795387899,
        owned_by: 'llamacpp',
        meta: {
          vocab_type: 1,
          n_vocab: 326,
          n_ctx: 256,
          n_ctx_train: 2048,
          n_embd: 64,
          n_params: 123968,
          size: 495872,
          ftype: 'all F32',
        },
      },
    ],
  },
  props: {
    default_generation_settings: {
      n_ctx: 256,
    },
    total_slots: 2,
    model_alias: 'tiny',
    model_ftype: 'all F32',
    model_path: '/m/tiny.gguf',
    modalities: {
      vision: false,
      video: false,
      audio: false,
    },
    media_marker: '<__media_rhqmADOOGAaWjajSKKpoEsHpm1FJ7ACG__>',
    endpoint_slots: true,
    endpoint_props: false,
    endpoint_metrics: false,
    ui: true,
    chat_template: "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:",
    bos_token: '<s>',
    eos_token: '</s>',
    build_info: 'b11669-Debian',
    is_sleeping: false,
    cors_proxy_enabled: false,
  },
  whole: {
    choices: [
      {
        finish_reason: 'length',
        index: 0,
        message: {
          role: 'assistant',
          content: '!bj!bj!bj!bj',
        },
      },
    ],
    created: 1795387899,
    model: 'tiny',
    system_fingerprint: 'b11669-Debian',
    object: 'chat.completion',
    usage: {
      completion_tokens: 12,
      prompt_tokens: 23,
      total_tokens: 35,
      prompt_tokens_details: {
        cached_tokens: 0,
      },
    },
    id: 'chatcmpl-Rh9CoPf8lVAuyvzAtx3qO2fgSIcUVnqa',
    timings: {
      cache_n: 0,
      prompt_n: 23,
      prompt_ms: 89.824,
      prompt_per_token_ms: 3.905391304347826,
      prompt_per_second: 256.0562878517991,
      predicted_n: 12,
      predicted_ms: 13.369,
      predicted_per_token_ms: 1.2153636363636364,
      predicted_per_second: 822.7990126411847,
    },
  },
  loading: {
    error: {
      message: 'Loading model',
      type: 'unavailable_error',
      code: 503,
    },
  },
  wrongKey: {
    error: {
      message: 'Invalid API Key',
      type: 'authentication_error',
      code: 401,
    },
  },
  tooLong: {
    error: {
      code: 400,
      message: 'request (1518 tokens) exceeds the available context size (256 tokens), try increasing it',
      type: 'exceed_context_size_error',
      n_prompt_tokens: 1518,
      n_ctx: 256,
    },
  },
  twoAnswers: {
    error: {
      code: 400,
      message: 'Cannot have 2 or more assistant messages at the end of the list.',
      type: 'invalid_request_error',
    },
  },
  noImages: {
    error: {
      code: 500,
      message:
        'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
      type: 'server_error',
    },
  },
  router: {
    models: {
      data: [
        {
          id: 'other',
          aliases: [],
          tags: [],
          object: 'model',
          owned_by: 'llamacpp',
          created: 1795387912,
          status: {
            value: 'unloaded',
          },
          architecture: {
            input_modalities: ['text'],
            output_modalities: ['text'],
          },
          source: 'models_dir',
          can_remove: false,
          context_length: 2048,
        },
        {
          id: 'tiny',
          aliases: [],
          tags: [],
          object: 'model',
          owned_by: 'llamacpp',
          created: 1795387912,
          status: {
            value: 'loaded',
          },
          architecture: {
            input_modalities: ['text'],
            output_modalities: ['text'],
          },
          source: 'models_dir',
          can_remove: false,
          context_length: 2048,
          meta: {
            vocab_type: 1,
            n_vocab: 326,
            n_ctx: 256,
            n_ctx_train: 2048,
            n_embd: 64,
            n_params: 123968,
            size: 495872,
            ftype: 'all F32',
          },
        },
      ],
      object: 'list',
    },
    props: {
      role: 'router',
      max_instances: 4,
      models_autoload: true,
      model_alias: 'llama-server',
      model_path: 'none',
      default_generation_settings: {
        params: null,
        n_ctx: 0,
      },
      build_info: 'b11669-Debian',
      cors_proxy_enabled: false,
    },
    unknownModel: {
      error: {
        code: 400,
        message: "model 'nope' not found",
        type: 'invalid_request_error',
      },
    },
  },
};

/** Its stream of four tokens, with usage. */
export const LLAMA_CPP_STREAM = [
  'data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1795387901,"id":"chatcmpl-mBpM82BELIPrxeHnjzo3slYj1blypUAp","model":"tiny","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}',
  'data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"!"}}],"created":1795387901,"id":"chatcmpl-mBpM82BELIPrxeHnjzo3slYj1blypUAp","model":"tiny","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}',
  'data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"b"}}],"created":1795387901,"id":"chatcmpl-mBpM82BELIPrxeHnjzo3slYj1blypUAp","model":"tiny","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}',
  'data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"j"}}],"created":1795387901,"id":"chatcmpl-mBpM82BELIPrxeHnjzo3slYj1blypUAp","model":"tiny","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}',
  'data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"!"}}],"created":1795387901,"id":"chatcmpl-mBpM82BELIPrxeHnjzo3slYj1blypUAp","model":"tiny","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}',
  'data: {"choices":[{"finish_reason":"length","index":0,"delta":{}}],"created":1795387901,"id":"chatcmpl-mBpM82BELIPrxeHnjzo3slYj1blypUAp","model":"tiny","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}',
  'data: {"choices":[],"created":1795387901,"id":"chatcmpl-mBpM82BELIPrxeHnjzo3slYj1blypUAp","model":"tiny","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk","usage":{"completion_tokens":4,"prompt_tokens":23,"total_tokens":27,"prompt_tokens_details":{"cached_tokens":22}},"timings":{"cache_n":22,"prompt_n":1,"prompt_ms":0.504,"prompt_per_token_ms":0.504,"prompt_per_second":1984.126984126984,"predicted_n":4,"predicted_ms":1.969,"predicted_per_token_ms":0.6563333333333333,"predicted_per_second":1523.6160487557136}}',
  'data: [DONE]',
]
  .map((line) => `${line}\n\n`)
  .join('');
