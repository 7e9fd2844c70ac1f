import { IncomingMessage, type ServerOptions, ServerResponse } from 'node:http';
import { isRefusal } from '@tidegate/contracts';
import { createProxyWarning } from '@tidegate/runtime';
import express, { type Express, type Request, type Response } from 'express';
import { refuseBlockedAddress } from '../auth/authenticate.ts';
import { complete } from '../completion/pipeline.ts';
import type { Gateway } from '../gateway.ts';
import { sendModelList } from '../models/list.ts';
import type { Route } from '../observe/facts.ts';
import { hasBlankAfterName, NOT_HTTP } from './client-error.ts';
import { endIncomplete } from './deliver.ts';
import type { Exchange } from './exchange.ts';
import { sendRefusal } from './respond.ts';
import { COMPLETIONS_PATH, MODELS_PATH, misrouted } from './routes.ts';

type Handler = (gateway: Gateway, exchange: Exchange) => Promise<void>;

export interface App {
  readonly handle: (exchange: Exchange) => void;
  /** Classes for the server that feeds the app. */
  readonly classes: Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>;
}

/** The two routes, and the answers to every other path and method. */
export function createApp(gateway: Gateway): App {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', false);
  app.enable('case sensitive routing');
  app.enable('strict routing');

  const handle = (route: Route, handler: Handler) => (_request: Request, response: Response) => {
    const exchange = exchangeOf(response);
    exchange.facts.route = route;
    exchange.handled = handler(gateway, exchange).catch((error: unknown) => fail(gateway, exchange, error));
  };
  app.post(COMPLETIONS_PATH, handle('chat_completions', complete));
  app.all(COMPLETIONS_PATH, wrongMethod('chat_completions', COMPLETIONS_PATH));
  // Express answers HEAD with GET's handler unless HEAD has its own.
  app.head(MODELS_PATH, wrongMethod('models', MODELS_PATH));
  app.get(MODELS_PATH, handle('models', sendModelList));
  app.all(MODELS_PATH, wrongMethod('models', MODELS_PATH));
  app.use((_request: Request, response: Response) => refuseMisrouted(exchangeOf(response)));
  const warnOfProxy = createProxyWarning(gateway.trustedProxies, gateway.log);
  const handleExchange = (exchange: Exchange) => {
    const { request, response } = exchange;
    warnOfProxy(request.rawHeaders);

    // This precedes routing: a blocked address is refused whatever it asks for.
    const blocked = refuseBlockedAddress(gateway, request);
    if (isRefusal(blocked)) return sendRefusal(exchange, blocked);
    if (hasBlankAfterName(request.rawHeaders)) {
      response.shouldKeepAlive = false;
      return sendRefusal(exchange, NOT_HTTP);
    }
    // When Express parses a URL whose port is not a number, Node prints a warning that contains the
    // URL, and so whatever the caller wrote. A later Node will throw.
    const target = request.url ?? '';
    if (!target.startsWith('/') && !URL.canParse(target)) return refuseMisrouted(exchange);
    // Express would answer unreadable targets and its own errors with HTML pages, so both end here.
    app(request as never, Object.assign(response, { locals: { exchange } }) as never, (error?: unknown) => {
      if (error) fail(gateway, exchange, error);
      else refuseMisrouted(exchange);
    });
  };
  return { handle: handleExchange, classes: classesOf(app) };
}

/**
 * Express sets the prototype of each request and response to those of its app. On Node 20, changing
 * the prototype of a live object costs over 100 us per request. Objects of these classes have the
 * right prototypes from the start, so nothing changes.
 */
function classesOf(app: Express): App['classes'] {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  app.request = AppRequest.prototype as unknown as Request;
  app.response = AppResponse.prototype as unknown as Response;
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse as typeof ServerResponse };
}

const exchangeOf = (response: Response): Exchange => response.locals.exchange as Exchange;

const wrongMethod = (route: Route, path: string) => (_request: Request, response: Response) => {
  const exchange = exchangeOf(response);
  exchange.facts.route = route;
  refuseMisrouted(exchange, path);
};

function refuseMisrouted(exchange: Exchange, path?: string): void {
  const { refusal, allow } = misrouted(path);
  if (allow !== undefined) exchange.headers = ['allow', allow];
  sendRefusal(exchange, refusal);
}

/** Ends a request after an internal fault. The client learns no details. */
function fail({ observer }: Gateway, exchange: Exchange, error: unknown): void {
  observer.fault(exchange, error);
  endIncomplete(exchange);
}
