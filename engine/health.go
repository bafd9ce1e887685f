package engine

import (
	"errors"
	"fmt"
)

// CheckRules returns an error until the rules of all sources are known. A mistake in a rule is not an error of the
// engine: the report on the rule has it.
func (e *Engine) CheckRules() error {
	if unread := e.unread.Load(); unread > 0 {
		return fmt.Errorf("%d of %d sources of rules have not been read", unread, len(e.options.Sources))
	}
	if !e.taken.Load() {
		return errors.New("the rules have not been compiled")
	}
	if loaded, _ := e.records.IsLoaded(); !loaded && e.leads() {
		return errors.New("the records of rules have not been read")
	}
	return nil
}

// CheckCaches returns an error until the engine knows the objects of all rules. An informer that fails is no error
// here: the reports on the rules that need it say so.
func (e *Engine) CheckCaches() error {
	select {
	case <-e.options.Mapper.Synced():
	default:
		return errors.New("the kinds of the cluster have not been read")
	}
	if filling := e.monitors.Filling(); len(filling) > 0 {
		return fmt.Errorf("%d caches are being filled, such as that of %s", len(filling), filling[0].GVR.GroupResource())
	}
	return nil
}
