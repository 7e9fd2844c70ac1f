import { Button } from '@heroui/react';
import { whole } from './numbers.ts';

/** Under a table that shows its first rows. `more`: how many there are besides. */
export const ShowMore = ({ more, onPress }: { more: number; onPress: () => void }) => (
  <div className="border-t border-separator p-3 text-center">
    <Button size="sm" variant="ghost" onPress={onPress}>
      Show more ({whole(more)})
    </Button>
  </div>
);
