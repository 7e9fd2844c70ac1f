'use client';

import { Toast } from '@heroui/react';

/** Where short confirmations appear. */
export const Notices = () => <Toast.Provider placement="bottom end" />;
