package monitor

// Overlaid is how many objects of the key's view have an entry in the overlay.
func (m *Monitors) Overlaid(key Key) int {
	mon := m.monitor(key)
	if mon == nil {
		return 0
	}
	return int(mon.overlay.size.Load())
}
