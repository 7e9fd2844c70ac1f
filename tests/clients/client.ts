/** A question that every client library is asked. */
export interface Question {
  readonly base: string;
  readonly key: string;
  readonly model: string;
  readonly text: string;
  readonly image?: { readonly type: string; readonly bytes: Buffer };
  readonly signal?: AbortSignal;
}

export interface Answered {
  readonly text: string;
  readonly finishReason: string | undefined;
  readonly promptTokens: number | undefined;
  readonly completionTokens: number | undefined;
}

export interface Failed {
  readonly status: number | undefined;
  readonly code: unknown;
  readonly message: string;
}

/** A client library as an application uses it: only address, key and model are set. */
export interface Client {
  readonly name: string;
  whole(question: Question): Promise<Answered>;
  /** Calls `onPiece` for each piece of text as it arrives. */
  stream(question: Question, onPiece?: (piece: string) => void): Promise<Answered>;
  /** Matches its error for a stream that broke off. */
  readonly brokenOff: RegExp;
  /** What an application can read from its error. */
  failed(thrown: unknown): Failed;
  /** Only for libraries that can list models. */
  readonly models?: (base: string, key: string) => Promise<string[]>;
}

/** The question as messages of the chat completions format. */
export const messagesOf = ({ text, image }: Question) => [
  {
    role: 'user' as const,
    content: image
      ? [
          { type: 'text' as const, text },
          { type: 'image_url' as const, image_url: { url: dataUrl(image) } },
        ]
      : text,
  },
];

const dataUrl = ({ type, bytes }: NonNullable<Question['image']>): string =>
  `data:${type};base64,${bytes.toString('base64')}`;
