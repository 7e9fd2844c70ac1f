export interface ImagePart {
  /** Unique in its message, which may contain the same image twice. */
  readonly id: number;
  readonly name: string;
  /** A base64 data URL. */
  readonly url: string;
}

export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  readonly images: readonly ImagePart[];
}

export interface Settings {
  readonly model: string;
  /** Empty: no system message. */
  readonly system: string;
  readonly maxTokens: number;
  readonly temperature: number;
}

/** The request body of a conversation. */
export function bodyOf(turns: readonly Turn[], { model, system, maxTokens, temperature }: Settings) {
  const messages = turns.map(({ role, text, images }) => ({
    role,
    content:
      images.length === 0
        ? text
        : [{ type: 'text', text }, ...images.map(({ url }) => ({ type: 'image_url', image_url: { url } }))],
  }));
  return {
    model,
    messages: system.trim() === '' ? messages : [{ role: 'system', content: system }, ...messages],
    max_tokens: maxTokens,
    temperature,
    stream: true,
    stream_options: { include_usage: true },
  };
}

const SHOWN_IMAGE_CHARACTERS = 48;

/**
 * The same request as a curl command. Shortens images, and names a variable in place of the key so
 * that the key is on no screen.
 */
export function curlOf(apiUrl: string, body: object): string {
  const shown = JSON.stringify(
    body,
    (_name, value) =>
      typeof value === 'string' && value.startsWith('data:image/')
        ? `${value.slice(0, SHOWN_IMAGE_CHARACTERS)}…`
        : value,
    2,
  );
  return `curl -N ${apiUrl}/chat/completions \\
  -H "Authorization: Bearer $TIDEGATE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${shown.replaceAll("'", "'\\''")}'`;
}
