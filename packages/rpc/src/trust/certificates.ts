import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type ChannelCredentials, experimental, type ServerCredentials } from '@grpc/grpc-js';
import { checkTlsPems, type TlsFiles } from '@tidegate/runtime/settings';

type CaListener = experimental.CaCertificateUpdateListener;
type IdentityListener = experimental.IdentityCertificateUpdateListener;

interface Pems {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

const REFRESH_MS = 10_000;

/** The certificates of both sides are checked. New files are used for new connections. */
export const serverTls = (files: TlsFiles): ServerCredentials => {
  const provider = providerOf(files);
  return experimental.createCertificateProviderServerCredentials(provider, provider, true);
};

/** Like `serverTls`. The server's certificate must name the host that is called. */
export const clientTls = (files: TlsFiles): ChannelCredentials => {
  const provider = providerOf(files);
  return experimental.createCertificateProviderChannelCredentials(provider, provider);
};

/** Clients with the same files share their connections only if they share a provider. */
const providers = new WeakMap<TlsFiles, CertificateFiles>();

function providerOf(files: TlsFiles): CertificateFiles {
  const provider = providers.get(files) ?? new CertificateFiles(files);
  providers.set(files, provider);
  return provider;
}

/**
 * Watches the three files while a server or a connection needs them. gRPC has a provider of its
 * own, but that one drops working certificates while a file is missing or belongs to another pair,
 * as in the middle of a replacement. This one keeps them until all three can be used together.
 */
class CertificateFiles implements experimental.CertificateProvider {
  readonly #files: TlsFiles;
  readonly #cas = new Set<CaListener>();
  readonly #identities = new Set<IdentityListener>();
  #pems: Pems;
  #timer: NodeJS.Timeout | undefined;
  #lastFailure = '';

  /** @throws Error if the files cannot be used */
  constructor(files: TlsFiles) {
    this.#files = files;
    const { ca, cert, key } = files;
    this.#pems = checked({ ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) });
  }

  addCaCertificateListener(listener: CaListener): void {
    this.#cas.add(listener);
    this.#watch();
    // Not immediately: gRPC begins to listen for what this causes only after this call.
    process.nextTick(() => this.#cas.has(listener) && listener({ caCertificate: this.#pems.ca }));
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#identities.add(listener);
    this.#watch();
    process.nextTick(() => this.#identities.has(listener) && listener(identityOf(this.#pems)));
  }

  removeCaCertificateListener(listener: CaListener): void {
    this.#cas.delete(listener);
    this.#unwatch();
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#identities.delete(listener);
    this.#unwatch();
  }

  #watch(): void {
    if (this.#timer) return;
    void this.#refresh();
    this.#timer = setInterval(() => void this.#refresh(), this.#files.refreshMs ?? REFRESH_MS);
    this.#timer.unref();
  }

  #unwatch(): void {
    if (this.#cas.size + this.#identities.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #refresh(): Promise<void> {
    try {
      const paths = [this.#files.ca, this.#files.cert, this.#files.key];
      const [ca, cert, key] = (await Promise.all(paths.map((path) => readFile(path)))) as [
        Buffer,
        Buffer,
        Buffer,
      ];
      const former = this.#pems;
      const same = ca.equals(former.ca) && cert.equals(former.cert) && key.equals(former.key);
      if (!same) this.#pems = checked({ ca, cert, key });
      this.#lastFailure = '';
      if (same) return;
    } catch (error) {
      this.#warn(error as NodeJS.ErrnoException);
      return;
    }
    for (const listener of this.#cas) listener({ caCertificate: this.#pems.ca });
    for (const listener of this.#identities) listener(identityOf(this.#pems));
  }

  #warn({ code, message }: NodeJS.ErrnoException): void {
    const failure = code ?? message;
    if (failure === this.#lastFailure || !this.#timer) return;
    this.#lastFailure = failure;
    const { warn = (text) => process.emitWarning(text) } = this.#files;
    warn(`The files of GRPC_TLS cannot be used; the previous ones stay in use (${failure})`);
  }
}

const identityOf = ({ cert, key }: Pems) => ({ certificate: cert, privateKey: key });

function checked(pems: Pems): Pems {
  checkTlsPems(pems);
  return pems;
}
