// What the models of the gateway's bench answer, as JSON.
export const ANSWER = {
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1,
  model: 'tide',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'As deep as it needs to be, and no deeper than that.' },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 12, completion_tokens: 30, total_tokens: 42 },
};
export const WHOLE_ANSWER = JSON.stringify(ANSWER);
export const MODELS = JSON.stringify({ object: 'list', data: [{ id: 'tide', object: 'model' }] });
