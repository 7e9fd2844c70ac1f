/** An error answer, in the words of the server that it imitates. */
export interface UpstreamError {
  readonly status: number;
  readonly body: unknown;
}

const STATUS_TYPES: Readonly<Record<number, string>> = {
  400: 'BadRequestError',
  401: 'AuthenticationError',
  404: 'NotFoundError',
  500: 'InternalServerError',
  503: 'ServiceUnavailableError',
};

/** An error in vLLM's form. */
export const vllmError = (status: number, message: string): UpstreamError => ({
  status,
  body: { error: { message, type: STATUS_TYPES[status] ?? 'APIError', param: null, code: status } },
});

export interface ContextNeed {
  readonly contextTokens: number;
  readonly promptTokens: number;
  readonly maxTokens: number;
}

const contextMessage = ({ contextTokens, promptTokens, maxTokens }: ContextNeed): string =>
  `maximum context length is ${contextTokens} tokens; the messages have ${promptTokens} and the completion asks for ${maxTokens}`;

/**
 * The context-length error in the form of each kind of server, by the value of the `error`
 * behaviour.
 */
export const CONTEXT_ERRORS: Readonly<Record<string, (need: ContextNeed) => UpstreamError>> = {
  context: (need) => vllmError(400, contextMessage(need)),
  'context-flat': (need) => ({
    status: 400,
    body: { object: 'error', message: contextMessage(need), type: 'BadRequestError', param: null, code: 400 },
  }),
  'context-llamacpp': (need) => ({
    status: 400,
    body: {
      error: {
        code: 400,
        message: contextMessage(need),
        type: 'exceed_context_size_error',
        n_prompt_tokens: need.promptTokens,
        n_ctx: need.contextTokens,
      },
    },
  }),
  'context-tgi': (need) => ({ status: 422, body: { error: contextMessage(need), error_type: 'validation' } }),
  'context-ollama': (need) => ({ status: 400, body: { error: contextMessage(need) } }),
  'context-text': (need) => ({ status: 400, body: contextMessage(need) }),
};
