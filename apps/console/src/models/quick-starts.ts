import type { Snippet } from '../ui/code.tsx';

/** A first request in three languages. `key` is a key's value or a placeholder for one. */
export function quickStarts({
  apiUrl,
  key,
  model,
}: {
  apiUrl: string;
  key: string;
  model: string;
}): Snippet[] {
  return [
    {
      id: 'curl',
      title: 'curl',
      text: `curl ${apiUrl}/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{
    "model": "${model}",
    "messages": [{ "role": "user", "content": "Hello!" }]
  }'`,
    },
    {
      id: 'python',
      title: 'Python',
      text: `from openai import OpenAI

client = OpenAI(base_url="${apiUrl}", api_key="${key}")

answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello!"}],
)
print(answer.choices[0].message.content)`,
    },
    {
      id: 'javascript',
      title: 'JavaScript',
      text: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${apiUrl}', apiKey: '${key}' });

const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello!' }],
});
console.log(answer.choices[0].message.content);`,
    },
  ];
}
