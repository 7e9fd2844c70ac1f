import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { answer, type Json, refuse, scaleOf, send, sliceOf, status } from './kubernetes-objects.ts';

/** One request, in the words of a Role. */
export interface Asked {
  readonly group: string;
  /** With its subresource. */
  readonly resource: string;
  readonly verb: 'get' | 'list' | 'watch' | 'update';
  readonly namespace: string;
  readonly query: URLSearchParams;
  readonly body: Json;
}

interface WatchedStream {
  readonly service: string;
  readonly response: ServerResponse;
}

const SLICES = 'endpointslices';
/** How to read each field that a `fieldSelector` may name. */
const FIELDS: Record<string, (item: Json) => unknown> = {
  type: ({ type }) => type,
  reason: ({ reason }) => reason,
  'status.phase': ({ status }) => status.phase,
  'involvedObject.name': ({ involvedObject }) => involvedObject.name,
};

/**
 * A Kubernetes API server, as far as the driver can see: scale subresources with optimistic
 * concurrency, lists with selectors, and watches with versions, bookmarks and a history that ends.
 * Like a real one it omits a count of 0. Tests play the part of the controllers. Its answers were
 * compared to those of a kube-apiserver 1.36.2.
 */
export class FakeKubernetes {
  readonly asked: Asked[] = [];
  token = 'first-token';
  /** Answers for the next calls with this verb and resource, instead of the right ones. */
  readonly failures: { match: string; status: number; message: string }[] = [];
  /** Called once, before a scale is written: plays another writer. */
  meanwhile: (() => void) | null = null;
  /** Plays the controllers: called after a count was set. */
  onScale: (path: string, replicas: number) => void = () => {};
  /** Calls are answered when this is over. */
  #silence: Promise<void> = Promise.resolve();
  readonly #workloads = new Map<string, { replicas: number; observed: number; version: number }>();
  readonly #slices = new Map<string, Json>();
  #history: { version: number; service: string; type: string; object: Json }[] = [];
  #lists: Record<string, Json[]> = { pods: [], events: [], horizontalpodautoscalers: [] };
  #version = 100;
  /** Older versions than this are gone. */
  #oldest = 0;
  readonly #watches = new Set<WatchedStream>();
  readonly #server = createServer((request, response) => {
    void this.#answer(request, response).catch(() => response.destroy());
  });

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Takes calls and does not answer them until the returned function is called. */
  fallSilent(): () => void {
    let end = () => {};
    this.#silence = new Promise((resolve) => {
      end = resolve;
    });
    return end;
  }

  /** Writes a kubeconfig with the current token. Returns its path. */
  kubeconfig(dir: string): string {
    const { port } = this.#server.address() as AddressInfo;
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      clusters: [
        {
          name: 'test',
          cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true },
        },
      ],
      users: [{ name: 'test', user: { token: this.token } }],
    };
    const path = join(dir, 'kubeconfig');
    writeFileSync(path, JSON.stringify(config));
    return path;
  }

  workload(path: string, replicas = 0): void {
    this.#workloads.set(path, { replicas, observed: replicas, version: ++this.#version });
  }

  /** Someone deletes it. Its pods end later. */
  deleteWorkload(path: string): void {
    this.#workloads.delete(path);
  }

  /** The count that was set. The path is `ns/deployments/name`. */
  replicas(path: string): number {
    return this.#workloads.get(path)?.replicas ?? -1;
  }

  /** The controller follows the count. */
  follow(path: string): void {
    const workload = this.#workloads.get(path);
    if (workload) workload.observed = workload.replicas;
  }

  set(list: 'pods' | 'events' | 'horizontalpodautoscalers', items: Json[]): void {
    this.#lists[list] = items;
  }

  /** Sets the endpoints of a Service with one slice: addresses, and whether each is ready. */
  endpoints(service: string, port: number, ready: Record<string, boolean>): void {
    const known = this.#slices.has(service);
    const slice = sliceOf(service, ++this.#version, port, ready);
    this.#slices.set(service, slice);
    this.#publish(service, known ? 'MODIFIED' : 'ADDED', slice);
  }

  removeSlices(service: string): void {
    const slice = this.#slices.get(service);
    this.#slices.delete(service);
    if (slice) this.#publish(service, 'DELETED', { ...slice, metadata: { ...slice.metadata } });
  }

  bookmark(): void {
    const empty = { addressType: '', endpoints: null, ports: null };
    const metadata = { resourceVersion: String(++this.#version) };
    const object = { kind: 'EndpointSlice', metadata, ...empty };
    for (const { response } of this.#watches) send(response, { type: 'BOOKMARK', object });
  }

  /** Forgets the history, as compaction does. */
  compact(): void {
    this.#history = [];
    this.#oldest = ++this.#version;
  }

  get watching(): number {
    return this.#watches.size;
  }

  /** Ends the watches: as a server does after a while, or by breaking their connections. */
  endWatches(how: 'end' | 'break'): void {
    for (const { response } of this.#watches) how === 'end' ? response.end() : response.destroy();
  }

  /** Sends bytes to the watchers as they are. */
  sendRaw(text: string): void {
    for (const { response } of this.#watches) response.write(text);
  }

  #publish(service: string, type: string, object: Json): void {
    this.#history.push({ version: this.#version, service, type, object });
    for (const watch of this.#watches) if (watch.service === service) send(watch.response, { type, object });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://api');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    if (request.headers.authorization !== `Bearer ${this.token}`)
      return refuse(response, 401, 'Unauthorized');
    const match =
      /^\/(?:api\/v1|apis\/([^/]+)\/v[12])\/namespaces\/([^/]+)\/([a-z]+)(?:\/([^/]+)\/([a-z]+))?$/.exec(
        url.pathname,
      );
    if (!match) return refuse(response, 404, 'no such path');
    const [, group = '', namespace = '', plural = '', name, subresource] = match;
    const watch = url.searchParams.get('watch') === 'true';
    const verb = request.method === 'PUT' ? 'update' : name ? 'get' : watch ? 'watch' : 'list';
    const resource = subresource ? `${plural}/${subresource}` : plural;
    const asked: Asked = {
      group,
      resource,
      verb,
      namespace,
      query: url.searchParams,
      body: text ? JSON.parse(text) : null,
    };
    this.asked.push(asked);
    await this.#silence;
    const failing = this.failures.findIndex(({ match }) => match === `${verb} ${resource}`);
    if (failing >= 0) {
      const [{ status, message } = { status: 500, message: '' }] = this.failures.splice(failing, 1);
      return refuse(response, status, message);
    }
    if (name) return this.#scale(asked, `${namespace}/${plural}/${name}`, name, response);
    if (watch) return this.#watch(asked, response);
    this.#list(asked, response);
  }

  #scale({ resource, namespace, verb, body }: Asked, path: string, name: string, response: ServerResponse) {
    if (verb === 'update') {
      this.meanwhile?.();
      this.meanwhile = null;
    }
    const workload = this.#workloads.get(path);
    const plural = resource.split('/')[0] ?? '';
    if (!workload) return refuse(response, 404, `${plural}.apps "${name}" not found`);
    if (verb === 'update') {
      if (body.metadata.resourceVersion !== String(workload.version))
        return refuse(
          response,
          409,
          `Operation cannot be fulfilled on ${plural}.apps "${name}": the object has been modified`,
        );
      workload.replicas = body.spec.replicas ?? 0;
      workload.version = ++this.#version;
      this.onScale(path, workload.replicas);
    }
    answer(response, scaleOf({ ...workload, name, namespace, plural }));
  }

  #list({ resource, query }: Asked, response: ServerResponse): void {
    const service = serviceIn(query);
    const slice = this.#slices.get(service);
    const fields = (query.get('fieldSelector') ?? '').split(',').filter(Boolean);
    const items =
      resource === SLICES
        ? slice
          ? [slice]
          : []
        : (this.#lists[resource] ?? []).filter((item) =>
            fields.every((field) => {
              const [, name = '', not, value] = /^(.+?)(!?)=(.*)$/.exec(field) ?? [];
              return (FIELDS[name]?.(item) === value) !== (not === '!');
            }),
          );
    const listed = items.slice(0, Number(query.get('limit') ?? items.length));
    answer(response, { kind: 'List', metadata: { resourceVersion: String(this.#version) }, items: listed });
  }

  #watch({ query }: Asked, response: ServerResponse): void {
    const since = Number(query.get('resourceVersion'));
    const service = serviceIn(query);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    if (since < this.#oldest) {
      send(response, { type: 'ERROR', object: status(410, `too old resource version: ${since}`) });
      response.end();
      return;
    }
    for (const event of this.#history)
      if (event.version > since && event.service === service) send(response, event);
    const watch = { service, response };
    this.#watches.add(watch);
    response.on('close', () => this.#watches.delete(watch));
  }
}

const serviceIn = (query: URLSearchParams): string =>
  (query.get('labelSelector') ?? '').replace('kubernetes.io/service-name=', '');
