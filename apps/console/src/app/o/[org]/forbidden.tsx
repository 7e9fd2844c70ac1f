import { Lock } from 'lucide-react';
import { Empty } from '../../../ui/page.tsx';

/** A screen that his role does not open. */
export default function ScreenForbidden() {
  return (
    <section className="card-surface">
      <Empty
        icon={<Lock className="size-5" aria-hidden />}
        title="Your role does not open this screen"
        level="h1"
      >
        Owners and members of the organization can try its models; viewers cannot. An owner can change your
        role.
      </Empty>
    </section>
  );
}
