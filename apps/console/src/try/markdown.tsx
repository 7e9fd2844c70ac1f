import Markdown, { type Components } from 'react-markdown';
import remarkGfm from 'remark-gfm';

/**
 * An answer's headings would disturb the page's own. Its images are not loaded, because their URLs
 * could reveal the conversation to a server.
 */
const COMPONENTS: Components = {
  ...Object.fromEntries(
    ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((heading) => [
      heading,
      ({ children }: { children?: React.ReactNode }) => (
        <p className="text-[0.9375rem] font-semibold">{children}</p>
      ),
    ]),
  ),
  img: ({ alt, src }) => <span>{alt || String(src ?? '')}</span>,
  input: ({ checked }) => <span>{checked ? '☑' : '☐'}</span>,
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer nofollow" className="inline-link">
      {children}
    </a>
  ),
  pre: ({ children }) => (
    <pre
      className="overflow-x-auto rounded-xl bg-(--code) px-4 py-3 font-mono text-xs leading-5 text-(--code-foreground) [&_code]:bg-transparent [&_code]:p-0"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: without it a keyboard cannot scroll
      tabIndex={0}
    >
      {children}
    </pre>
  ),
  code: ({ children }) => (
    <code className="rounded bg-surface-secondary px-1 font-mono text-[0.8125rem]">{children}</code>
  ),
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it a keyboard cannot scroll
    <div className="overflow-x-auto" tabIndex={0}>
      <table className="border-collapse text-left [&_td]:border [&_td]:border-border [&_td]:px-3 [&_td]:py-1 [&_th]:border [&_th]:border-border [&_th]:px-3 [&_th]:py-1">
        {children}
      </table>
    </div>
  ),
};

/** An answer's Markdown. HTML in it is shown as text, and only web and mail links are links. */
export function AnswerText({ text }: { text: string }) {
  return (
    <div className="space-y-3 [&_ol]:list-decimal [&_ol]:pl-6 [&_ul]:list-disc [&_ul]:pl-6 [&_blockquote]:border-l-2 [&_blockquote]:border-border [&_blockquote]:pl-3">
      <Markdown remarkPlugins={[remarkGfm]} components={COMPONENTS}>
        {text}
      </Markdown>
    </div>
  );
}
