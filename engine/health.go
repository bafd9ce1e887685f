package engine

import (
	"errors"
	"fmt"
)

// CheckRules is what is missing for the rules of all sources to be known; nil: nothing. A rule with a mistake is no problem of the
// engine's: it is in the report on that rule.
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

// CheckCaches is what is missing for the engine to know the objects of all rules; nil: nothing. An informer that fails is in the
// report on the rules that need it.
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
