package guard

import "kanon.dev/kanon/engine/queue"

// AddKeys adds to found the parents that the guard knows something about.
func (g *Guard) AddKeys(found queue.Keys) {
	for parent := range g.losses {
		found[parent] = true
	}
}
