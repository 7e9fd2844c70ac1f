'use client';

import { Toast } from '@heroui/react';

/** Where short confirmations appear. */
export const Toasts = () => <Toast.Provider placement="bottom end" />;
