import {useState} from 'react';
import {createRoot} from 'react-dom/client';
import Autocomplete from '@mui/material/Autocomplete';
import TextField from '@mui/material/TextField';
function Fruit() {
  const [chosen, choose] = useState(null);
  window.state = () => chosen ?? '';
  return <Autocomplete options={['Apple', 'Mango', 'Pear', 'Plum']} value={chosen} onChange={(_, value) => choose(value)}
    renderInput={parameters => <TextField {...parameters} label="Fruit" />} />;
}
createRoot(document.querySelector('#root')).render(<Fruit />);
