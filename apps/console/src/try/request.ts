import type { Snippet } from '../ui/code.tsx';

export interface ImagePart {
  /** Unique in its message, which may contain the same image twice. */
  readonly id: number;
  readonly name: string;
  /** A base64 data URL. */
  readonly url: string;
}

export interface ChatMessage {
  readonly role: 'user' | 'assistant';
  readonly text: string;
  readonly images: readonly ImagePart[];
}

export interface TrySettings {
  readonly model: string;
  /** Empty: no system message. */
  readonly system: string;
  /** As typed, like the temperature. Empty: the request has none. */
  readonly maxTokens: string;
  readonly temperature: string;
}

/** The request body of a conversation. */
export function bodyOf(
  conversation: readonly ChatMessage[],
  { model, system, maxTokens, temperature }: TrySettings,
) {
  const messages = conversation.map(({ role, text, images }) => ({
    role,
    content:
      images.length === 0
        ? text
        : [{ type: 'text', text }, ...images.map(({ url }) => ({ type: 'image_url', image_url: { url } }))],
  }));
  return {
    model,
    messages: system.trim() === '' ? messages : [{ role: 'system', content: system }, ...messages],
    ...(maxTokens === '' ? {} : { max_tokens: Number(maxTokens) }),
    ...(temperature === '' ? {} : { temperature: Number(temperature) }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

const SHOWN_IMAGE_CHARACTERS = 48;

/**
 * The same request as a program. Shortens images, and names a variable in place of the key so that
 * the key is never shown.
 */
export function programsOf(apiUrl: string, body: object): readonly Snippet[] {
  const shown = JSON.stringify(
    body,
    (_name, value) =>
      typeof value === 'string' && value.startsWith('data:image/')
        ? `${value.slice(0, SHOWN_IMAGE_CHARACTERS)}…`
        : value,
    2,
  );
  return [
    { id: 'curl', title: 'curl', text: curlOf(apiUrl, shown) },
    { id: 'python', title: 'Python', text: pythonOf(apiUrl, shown) },
    { id: 'javascript', title: 'JavaScript', text: javaScriptOf(apiUrl, shown) },
  ];
}

/** JSON and Python differ only in these words, outside of strings. */
const PYTHON_WORDS: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };
const asPython = (json: string): string =>
  json.replace(/"(?:[^"\\]|\\.)*"|true|false|null/g, (part) => PYTHON_WORDS[part] ?? part);

const pythonOf = (apiUrl: string, shown: string): string => `import os
from openai import OpenAI

client = OpenAI(base_url="${apiUrl}", api_key=os.environ["TIDEGATE_API_KEY"])

stream = client.chat.completions.create(**${asPython(shown)})
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`;

const javaScriptOf = (apiUrl: string, shown: string): string => `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${apiUrl}', apiKey: process.env.TIDEGATE_API_KEY });

const stream = await client.chat.completions.create(${shown});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '');`;

function curlOf(apiUrl: string, shown: string): string {
  return `curl -N ${apiUrl}/chat/completions \\
  -H "Authorization: Bearer $TIDEGATE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${shown.replaceAll("'", "'\\''")}'`;
}
