/** What is asked of every client library alike. */
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

/** A client library as an application uses it: its own defaults, nothing set but address, key and model. */
export interface Client {
  readonly name: string;
  whole(question: Question): Promise<Answered>;
  /** `onPiece` is told each piece of text as it arrives. */
  stream(question: Question, onPiece?: (piece: string) => void): Promise<Answered>;
  /** What it says of a stream that broke off. */
  readonly brokenOff: RegExp;
  /** What its user can read from what it threw. */
  failed(thrown: unknown): Failed;
  /** If it can list models. */
  readonly models?: (base: string, key: string) => Promise<string[]>;
}

/** The question as chat completions want it. */
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
