import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canReserve, EMPTY_MONTH, type MonthLedger, reserve, settle, withdraw } from './month.ts';
import { charge, usageIsValid } from './usage.ts';

const steps = fc.array(
  fc.record({
    move: fc.constantFrom('reserve', 'reserve', 'settle', 'fail', 'withdraw'),
    contextTokens: fc.integer({ min: 1, max: 5_000 }),
    prompt: fc.integer({ min: -5, max: 6_000 }),
    completion: fc.integer({ min: 0, max: 6_000 }),
  }),
  { maxLength: 60 },
);
const caps = fc.record({ requests: fc.nat(30), tokens: fc.nat(40_000) });

describe('the month ledger', () => {
  it('never exceeds its caps, whatever is reserved, settled, failed and withdrawn in whatever order [plan.strict]', () => {
    fc.assert(
      fc.property(caps, steps, (cap, moves) => {
        let ledger: MonthLedger = EMPTY_MONTH;
        const open: number[] = [];
        for (const { move, contextTokens, prompt, completion } of moves) {
          if (move === 'reserve') {
            if (canReserve(ledger, cap, contextTokens)) continue;
            ledger = reserve(ledger, contextTokens);
            open.push(contextTokens);
          } else {
            const reserved = open.shift();
            if (reserved === undefined) continue;
            const end = { answered: move === 'settle', usage: { prompt, completion } };
            ledger =
              move === 'withdraw'
                ? withdraw(ledger, reserved)
                : settle(ledger, reserved, charge(reserved, end));
          }
          expect(ledger.requests).toBeLessThanOrEqual(cap.requests);
          expect(ledger.chargedTokens + ledger.reservedTokens).toBeLessThanOrEqual(cap.tokens);
          expect(ledger.reservedTokens).toBe(open.reduce((sum, tokens) => sum + tokens, 0));
          expect(Math.min(ledger.requests, ledger.chargedTokens)).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });

  it('admits exactly K of any number when its tokens fit exactly K reservations', () => {
    fc.assert(
      fc.property(fc.nat(20), fc.integer({ min: 1, max: 9_000 }), (k, contextTokens) => {
        const cap = { requests: 1_000, tokens: k * contextTokens + contextTokens - 1 };
        let ledger: MonthLedger = EMPTY_MONTH;
        let admitted = 0;
        for (let i = 0; i < k + 10; i++) {
          if (canReserve(ledger, cap, contextTokens)) continue;
          ledger = reserve(ledger, contextTokens);
          admitted++;
        }
        expect(admitted).toBe(k);
      }),
    );
  });

  it('names the cap that refuses', () => {
    expect(canReserve(EMPTY_MONTH, { requests: 0, tokens: 10 }, 10)).toBe('requests');
    expect(canReserve(EMPTY_MONTH, { requests: 1, tokens: 9 }, 10)).toBe('tokens');
    expect(canReserve(EMPTY_MONTH, { requests: 1, tokens: 10 }, 10)).toBeNull();
  });

  it('is restored by withdrawing a reservation', () => {
    const before = { requests: 3, chargedTokens: 50, reservedTokens: 7 };
    expect(withdraw(reserve(before, 100), 100)).toEqual(before);
  });
});

describe('the charge', () => {
  it('is what was used after a complete answer, and the full reservation otherwise', () => {
    const usage = { prompt: 10, completion: 5 };
    expect(charge(100, { answered: true, usage })).toBe(15);
    expect(charge(100, { answered: false, usage })).toBe(100);
    expect(charge(100, { answered: true, usage: null })).toBe(100);
    expect(charge(14, { answered: true, usage })).toBe(14);
  });

  it('never exceeds the reservation', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.integer(),
        fc.integer(),
        fc.boolean(),
        (reserved, prompt, completion, answered) => {
          const charged = charge(reserved, { answered, usage: { prompt, completion } });
          expect(charged).toBeGreaterThanOrEqual(0);
          expect(charged).toBeLessThanOrEqual(reserved);
        },
      ),
    );
  });
});

describe('valid usage', () => {
  it('adds up and fits the reservation, to the token', () => {
    expect(usageIsValid({ prompt: 0, completion: 0, total: 0, reservedTokens: 0 })).toBe(true);
    expect(usageIsValid({ prompt: 60, completion: 40, total: 100, reservedTokens: 100 })).toBe(true);
    expect(usageIsValid({ prompt: 61, completion: 40, total: 101, reservedTokens: 100 })).toBe(false);
    expect(usageIsValid({ prompt: 60, completion: 40, total: 99, reservedTokens: 100 })).toBe(false);
  });

  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '3', null, undefined, true])(
    'has no count like %p',
    (odd) => {
      const count = odd as number;
      const reservedTokens = Number.POSITIVE_INFINITY;
      expect(usageIsValid({ prompt: count, completion: 1, total: count + 1, reservedTokens })).toBe(false);
      expect(usageIsValid({ prompt: 1, completion: count, total: count + 1, reservedTokens })).toBe(false);
    },
  );
});
