const MAX_LENGTH = 128;

/**
 * A name that may be published, for what a server calls its model: of a file its name alone, without Ollama's tag for the latest, and
 * other characters than names may have as hyphens. Empty: nothing is left.
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
