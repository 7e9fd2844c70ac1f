import type { CreatedPageKey, Result } from '@tidegate/control';

interface PageKeyPorts {
  readonly create: () => Promise<Result<CreatedPageKey>>;
  /** Tells the server that the key with this id is no longer needed. */
  readonly end: (id: string) => void;
}

/** The key that a page creates for itself. It is kept nowhere but in this object. */
export class PageKey {
  readonly #ports: PageKeyPorts;
  #made: CreatedPageKey | null = null;
  #making: Promise<Result<CreatedPageKey>> | null = null;
  /** Grows when the page is left. The page may be shown again. */
  #visit = 0;

  constructor(ports: PageKeyPorts) {
    this.#ports = ports;
  }

  /** Creates the key if there is none. */
  async get(): Promise<Result<string>> {
    if (this.#made) return { ok: true, value: this.#made.key };
    this.#making ??= this.#make();
    const made = await this.#making;
    return made.ok ? { ok: true, value: made.value.key } : made;
  }

  drop(key: string): boolean {
    if (this.#made?.key === key) this.#made = null;
    return true;
  }

  end(): void {
    this.#visit += 1;
    if (this.#made) this.#ports.end(this.#made.id);
    this.#made = null;
  }

  async #make(): Promise<Result<CreatedPageKey>> {
    const visit = this.#visit;
    try {
      const made = await this.#ports.create();
      if (!made.ok) return made;
      if (visit === this.#visit) this.#made = made.value;
      else this.#ports.end(made.value.id);
      return made;
    } finally {
      this.#making = null;
    }
  }
}
