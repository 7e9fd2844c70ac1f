import { Empty } from '#ui/page.tsx';

/** Shown for a screen that the user's role may not see. */
export default function ScreenForbidden() {
  return (
    <section className="card-surface">
      <Empty
        icon={<span className="icon-lock size-5" aria-hidden />}
        title="Your role cannot open this screen"
        level="h1"
      >
        Owners and members of the organization can try its models; viewers cannot. An owner can change your
        role.
      </Empty>
    </section>
  );
}
