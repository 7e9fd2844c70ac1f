'use server';

import type {
  ChangeModelInput,
  CheckModelInput,
  DeletedModelView,
  ModelChange,
  ModelCheck,
  ModelNow,
  PublishModelInput,
  Result,
} from '@tidegate/control';
import { services } from '../server/services.ts';
import { asUser } from '../session/current.ts';

export const checkModel = async (input: CheckModelInput): Promise<Result<ModelCheck>> =>
  asUser((actor) => services().control.checkModel(actor, input));

export const checkChange = async (input: ChangeModelInput): Promise<Result<ModelCheck | null>> =>
  asUser((actor) => services().control.checkChange(actor, input));

export const publishModel = async (input: PublishModelInput): Promise<Result<ModelChange>> =>
  asUser((actor) => services().control.publishModel(actor, input));

export const changeModel = async (input: ChangeModelInput): Promise<Result<ModelChange>> =>
  asUser((actor) => services().control.changeModel(actor, input));

export const startModel = async (org: string, name: string): Promise<Result<ModelNow>> =>
  asUser((actor) => services().control.startModel(actor, { org, name }));

export const stopModel = async (org: string, name: string): Promise<Result<ModelNow>> =>
  asUser((actor) => services().control.stopModel(actor, { org, name }));

export const deleteModel = async (org: string, name: string): Promise<Result<DeletedModelView>> =>
  asUser(async (actor) => {
    const deleted = await services().control.deleteModel(actor, { org, name });
    if (!deleted.ok || deleted.value.runnerReached) return deleted;
    const notInForce = `“${deleted.value.name}” is deleted. The runner is not available right now: until it is back, requests to the model may still be answered.`;
    return { ...deleted, notInForce };
  });
