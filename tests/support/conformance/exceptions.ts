/**
 * Requests that fit the schema but are refused, for a reason that JSON Schema cannot express. Each
 * is recognized by the refusal's message and, where possible, by the request's text.
 */
interface Exception {
  readonly reason: string;
  readonly message: RegExp;
  readonly text?: RegExp;
}

const EXCEPTIONS: readonly Exception[] = [
  {
    reason: 'to JSON Schema 100.0 and 1e2 are integers',
    message: /written without fraction or exponent/,
    text: /"(max_tokens|max_completion_tokens|seed|n)"\s*:\s*-?\d+(\.\d|e)/i,
  },
  {
    reason: 'it cannot add up over items',
    message: /images, counted across all messages/,
    text: /image_url/,
  },
  {
    reason: 'it does not look into base64',
    message: /is declared as image\/|is not a PNG, JPEG, WebP or GIF image|valid base64/,
    text: /base64,/,
  },
  { reason: 'its patterns do not parse URLs', message: /must be a valid URL/, text: /https:/ },
  { reason: 'it does not download', message: /image_url\.url: the image /, text: /https:/ },
  { reason: 'it has no bound for all values together', message: /at most \d+ JSON values/ },
  { reason: 'it has no bound for all objects', message: /at most \d+ members/ },
  { reason: 'it has no bound for the depth', message: /nested at most \d+ deep/ },
  { reason: 'it is about the body, not about its encoding', message: /content-encoding/i },
];

export const isException = (message: string, text: string): boolean =>
  EXCEPTIONS.some((exception) => exception.message.test(message) && (exception.text?.test(text) ?? true));
