import {useState} from 'react';
import {createRoot} from 'react-dom/client';
import Select from 'react-select';
const options = ['Apple', 'Mango', 'Pear', 'Plum'].map(label => ({label, value: label.toLowerCase()}));
function Fruit() {
  const [chosen, choose] = useState(null);
  window.state = () => chosen?.value ?? '';
  return <Select aria-label="Fruit" options={options} value={chosen} onChange={choose} placeholder="Choose a fruit" />;
}
createRoot(document.querySelector('#root')).render(<Fruit />);
