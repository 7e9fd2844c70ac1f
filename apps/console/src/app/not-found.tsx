import { Link } from '../ui/link.tsx';
import { Mark } from '../ui/mark.tsx';

export default function NotFound() {
  return (
    <main className="tide grid min-h-dvh place-items-center px-6">
      <div className="text-center">
        <Mark className="mx-auto size-10" />
        <h1 className="mt-5 text-xl font-semibold tracking-tight">There is nothing here</h1>
        <p className="mt-2 text-sm text-muted text-balance">
          The page does not exist, or you have no access to it.
        </p>
        <Link href="/" className="mt-5 inline-block text-sm inline-link">
          Back to the console
        </Link>
      </div>
    </main>
  );
}
