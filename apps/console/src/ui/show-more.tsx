import { Button } from '@heroui/react';
import { whole } from './numbers.ts';

/** Under a table that shows its first rows. `more`: how many more there are, if any. */
export const ShowMore = ({ more, onPress }: { more: number; onPress: () => void }) =>
  more > 0 ? (
    <div className="border-t border-separator p-3 text-center">
      <Button size="sm" variant="ghost" onPress={onPress}>
        Show more ({whole(more)})
      </Button>
    </div>
  ) : null;
