import type { ReactNode } from 'react';
import { loadModel } from '#models/load-model.ts';

interface ModelLayoutProps {
  readonly children: ReactNode;
  readonly params: Promise<{ org: string; model: string }>;
}

/**
 * Finds the model before anything is sent, so that the answer is 404 if there is none. What the
 * page shows of it may arrive later.
 */
export default async function ModelLayout({ children, params }: ModelLayoutProps) {
  const { org, model } = await params;
  await loadModel(org, model);
  return children;
}
