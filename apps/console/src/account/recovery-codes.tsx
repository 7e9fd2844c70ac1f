import { CopyButton } from '../ui/code.tsx';

export function RecoveryCodes({ codes }: { codes: readonly string[] }) {
  return (
    <div>
      <ul
        aria-label="Recovery codes"
        className="grid grid-cols-2 gap-x-6 gap-y-1.5 rounded-xl border border-border bg-default px-4 py-3 font-mono text-[0.8125rem]"
      >
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <CopyButton text={codes.join('\n')} label="Copy the recovery codes" className="mt-2" />
    </div>
  );
}
