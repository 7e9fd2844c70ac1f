// Visits pages of the console as a browser does.

/** Signs in by the form. Resolves to the cookies. */
export async function signIn(site, { email, password }) {
  const page = await (await fetch(`${site}/sign-in`)).text();
  const own = page.split('</form>').find((html) => html.includes('name="password"')) ?? '';
  const form = new FormData();
  for (const [tag] of own.matchAll(/<input [^>]*type="hidden"[^>]*>/g)) {
    const [, name] = /name="([^"]*)"/.exec(tag) ?? [];
    const [, value = ''] = /value="([^"]*)"/.exec(tag) ?? [];
    if (name) form.append(name, value.replaceAll('&quot;', '"').replaceAll('&amp;', '&'));
  }
  form.append('email', email);
  form.append('password', password);
  const headers = { origin: site };
  const answer = await fetch(`${site}/sign-in`, {
    method: 'POST',
    headers,
    body: form,
    redirect: 'manual',
  });
  await answer.arrayBuffer();
  const cookies = answer.headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0]);
  if (cookies.length === 0) throw new Error('the console refused the sign-in');
  return cookies.join('; ');
}

/** Rounds that do not count: they compile the page and plan its queries. */
export const WARM_UP = 2;

/** Asks for a page again and again, one after the other. */
export async function timesOf(url, cookie, rounds) {
  const took = [];
  let bytes = 0;
  for (let round = -WARM_UP; round < rounds; round++) {
    const startedMs = performance.now();
    const answer = await fetch(url, { headers: { cookie }, redirect: 'manual' });
    const html = await answer.text();
    if (answer.status !== 200) throw new Error(`${url} answers ${answer.status}`);
    if (round >= 0) took.push(performance.now() - startedMs);
    bytes = html.length;
  }
  took.sort((a, b) => a - b);
  const at = (share) => took[Math.floor((took.length - 1) * share)] ?? 0;
  return { p50: at(0.5), p95: at(0.95), bytes };
}
