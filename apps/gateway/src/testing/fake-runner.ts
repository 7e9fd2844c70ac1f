import {
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js';
import {
  type CatalogUpdate,
  type Model,
  type ModelState,
  runnerService,
  type WakeRequest__Output,
  type WatchRequest__Output,
} from '@tidegate/rpc';

type Watch = ServerDuplexStream<WatchRequest__Output, CatalogUpdate>;

/** A runner that speaks the real protocol. The test changes its catalog and scripts its wakes. */
export class FakeRunner {
  readonly models = new Map<string, Model>();
  readonly reports: WatchRequest__Output[] = [];
  readonly wakes: string[] = [];
  wake: (modelId: string) => Promise<ModelState> = async (modelId) => {
    this.update({ modelId, condition: 'CONDITION_RUNNING' });
    return { modelId, condition: 'CONDITION_RUNNING' };
  };
  readonly #watches = new Set<Watch>();
  #revision = 0;
  #server: Server | null = null;
  #port = 0;

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  get revision(): number {
    return this.#revision;
  }

  async start(): Promise<this> {
    const server = new Server();
    server.addService(runnerService, {
      watch: (stream: Watch) => this.#accept(stream),
      wake: (
        { request }: ServerUnaryCall<WakeRequest__Output, ModelState>,
        reply: sendUnaryData<ModelState>,
      ) => {
        this.wakes.push(request.modelId);
        this.wake(request.modelId).then(
          (state) => reply(null, state),
          (error) => reply(error),
        );
      },
    } as never);
    this.#port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(`127.0.0.1:${this.#port}`, ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      );
    });
    this.#server = server;
    return this;
  }

  stop(): void {
    this.#server?.forceShutdown();
    this.#watches.clear();
  }

  /** Publishes or changes a model, and tells every gateway. */
  update(change: Model & { modelId: string }): void {
    const model = { ...this.models.get(change.modelId), ...change };
    this.models.set(change.modelId, model);
    this.#send({ models: [model] });
  }

  remove(modelId: string): void {
    this.models.delete(modelId);
    this.#send({ removedModelIds: [modelId] });
  }

  #send(update: CatalogUpdate): void {
    this.#revision++;
    for (const watch of this.#watches) watch.write({ revision: this.#revision, ...update });
  }

  #accept(stream: Watch): void {
    this.#watches.add(stream);
    stream.on('error', () => {});
    stream.on('end', () => stream.end());
    stream.on('close', () => this.#watches.delete(stream));
    stream.on('data', (report: WatchRequest__Output) => this.reports.push(report));
    stream.write({ revision: this.#revision, snapshot: true, models: [...this.models.values()] });
  }
}
