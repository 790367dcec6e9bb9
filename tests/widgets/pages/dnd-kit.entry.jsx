import {useState} from 'react';
import {createRoot} from 'react-dom/client';
import {DndContext, KeyboardSensor, PointerSensor, closestCenter, useSensor, useSensors} from '@dnd-kit/core';
import {SortableContext, arrayMove, sortableKeyboardCoordinates, useSortable, verticalListSortingStrategy} from '@dnd-kit/sortable';
function Item({id}) {
  const {attributes, listeners, setNodeRef, transform, transition} = useSortable({id});
  const moved = transform ? `translate(${transform.x}px, ${transform.y}px)` : undefined;
  return <div ref={setNodeRef} style={{transform: moved, transition}} {...attributes} {...listeners}>{id}</div>;
}
function List() {
  const [items, order] = useState(['One', 'Two', 'Three', 'Four']);
  const sensors = useSensors(
    useSensor(PointerSensor, {activationConstraint: {distance: 5}}),
    useSensor(KeyboardSensor, {coordinateGetter: sortableKeyboardCoordinates}),
  );
  window.state = () => items.join();
  const end = ({active, over}) => {
    if (over && active.id !== over.id) order(now => arrayMove(now, now.indexOf(active.id), now.indexOf(over.id)));
  };
  return <DndContext sensors={sensors} collisionDetection={closestCenter} onDragEnd={end}>
    <SortableContext items={items} strategy={verticalListSortingStrategy}>
      <div>{items.map(id => <Item key={id} id={id} />)}</div>
    </SortableContext>
  </DndContext>;
}
createRoot(document.querySelector('#root')).render(<List />);
