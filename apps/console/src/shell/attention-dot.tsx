/** Marks a screen that says what is wrong. It takes no room, so nothing moves when it appears. */
export const AttentionDot = () => (
  <span
    className="absolute top-1.5 right-1.5 size-1.5 rounded-full bg-danger md:max-lg:top-0.5 md:max-lg:right-0.5 lg:top-1/2 lg:right-3 lg:size-2 lg:-translate-y-1/2"
    aria-hidden
  />
);
