/**
 * Signs in to the console by its form, as a browser without scripts does. Resolves to the cookies.
 * Null: refused.
 */
export async function signInByForm(
  site: string,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<string | null> {
  const page = await (await fetch(`${site}/sign-in`)).text();
  const form = new FormData();
  // Skips the form that leads to the identity provider.
  const own = page.split('</form>').find((html) => html.includes('name="password"')) ?? '';
  for (const [tag] of own.matchAll(/<input [^>]*type="hidden"[^>]*>/g)) {
    const [, name] = /name="([^"]*)"/.exec(tag) ?? [];
    const [, value = ''] = /value="([^"]*)"/.exec(tag) ?? [];
    if (name) form.append(name, unescaped(value));
  }
  form.append('email', email);
  form.append('password', password);
  const answer = await fetch(`${site}/sign-in`, {
    method: 'POST',
    headers: { origin: site },
    body: form,
    redirect: 'manual',
  });
  await answer.arrayBuffer();
  const cookies = answer.headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0] ?? '');
  return cookies.length > 0 ? cookies.join('; ') : null;
}

const unescaped = (html: string): string =>
  html
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
