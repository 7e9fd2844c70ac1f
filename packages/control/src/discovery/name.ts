const MAX_LENGTH = 128;

/**
 * Makes a valid published name from a model's name on its server. Takes the file name of a path,
 * drops `.gguf` and Ollama's `:latest`, and replaces other characters with hyphens. Empty: nothing
 * is left.
 */
export function publishedNameOf(upstreamModel: string): string {
  const isFile = /^[./~]|\\|\.gguf$/i.test(upstreamModel);
  const name = isFile ? (upstreamModel.split(/[/\\]/).at(-1) ?? '') : upstreamModel;
  return name
    .replace(/\.gguf$/i, '')
    .replace(/:latest$/, '')
    .replace(/[^A-Za-z0-9._:/-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, MAX_LENGTH)
    .replace(/-+$/, '');
}
