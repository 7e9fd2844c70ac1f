import { Link } from '../ui/link.tsx';

/** Leads owners to the guide, from where something does not exist yet. */
export function ToGuide({ org }: { org: string }) {
  return (
    <Link href={`/o/${org}/start`} className="font-medium text-accent underline underline-offset-4">
      follow the first steps
    </Link>
  );
}
