/**
 * Signs in to the console by its form, as a browser without scripts does. Resolves to the cookies.
 * Null: refused.
 */
export async function signInByForm(
  site: string,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<string | null> {
  const send = await openForm(`${site}/sign-in`);
  const answer = await send({ email, password });
  await answer.arrayBuffer();
  const cookies = answer.headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0] ?? '');
  return cookies.length > 0 ? cookies.join('; ') : null;
}

/**
 * Opens a page of the console. Resolves to a function that sends its form: the one with a password,
 * or the marked one.
 *
 * @param options.marked what only this form contains
 * @param options.to where to send it, if not to this page: the same page of another console
 */
export async function openForm(page: string, { marked = 'name="password"', to = page } = {}) {
  const html = await (await fetch(page)).text();
  const own = html.split('</form>').find((form) => form.includes(marked)) ?? '';
  const hidden = [...own.matchAll(/<input [^>]*type="hidden"[^>]*>/g)].flatMap(([tag]) => {
    const [, name] = /name="([^"]*)"/.exec(tag) ?? [];
    const [, value = ''] = /value="([^"]*)"/.exec(tag) ?? [];
    return name ? [[name, unescaped(value)] as const] : [];
  });
  return (fields: Readonly<Record<string, string>>): Promise<Response> => {
    const body = new FormData();
    for (const [name, value] of [...hidden, ...Object.entries(fields)]) body.append(name, value);
    return fetch(to, {
      method: 'POST',
      headers: { origin: new URL(to).origin },
      body,
      redirect: 'manual',
    });
  };
}

const unescaped = (html: string): string =>
  html
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
