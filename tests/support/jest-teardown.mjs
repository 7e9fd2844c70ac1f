/** Stops and removes what jest-setup.mjs made, newest first. */
export default async function teardown() {
  for (const end of globalThis.tidegateTestEnds ?? []) await end();
}
