package kanontest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// retryPause is the pause between retries to read what is not served yet.
const retryPause = 100 * time.Millisecond

// errAbsent reports that an object does not exist.
var errAbsent = errors.New("it is not there")

// Await watches an object until holds returns nil for it, and returns it then. holds is not called while the object
// does not exist.
func (c *Cluster) Await(ref *unstructured.Unstructured, holds func(live *unstructured.Unstructured) error) *unstructured.Unstructured {
	c.Helper()
	return c.await(c.of(ref), fields.OneTermEqualSelector(metav1.ObjectNameField, ref.GetName()), describe(ref),
		func(live *unstructured.Unstructured) error {
			if live == nil {
				return errAbsent
			}
			return holds(live)
		})
}

// AwaitMatch watches an object until it matches want; see Differences.
func (c *Cluster) AwaitMatch(want *unstructured.Unstructured) *unstructured.Unstructured {
	c.Helper()
	return c.Await(want, func(live *unstructured.Unstructured) error { return mismatch(want, live) })
}

// mismatch is an error with the differences, if there are any.
func mismatch(want, live *unstructured.Unstructured) error {
	if found := Differences(want, live); len(found) > 0 {
		return errors.New("it differs:\n" + strings.Join(found, "\n"))
	}
	return nil
}

// AwaitGone watches an object until it does not exist.
func (c *Cluster) AwaitGone(ref *unstructured.Unstructured) {
	c.Helper()
	c.await(c.of(ref), fields.OneTermEqualSelector(metav1.ObjectNameField, ref.GetName()), describe(ref),
		func(live *unstructured.Unstructured) error {
			if live != nil {
				return errors.New("it is still there")
			}
			return nil
		})
}

// AwaitMessage waits for an Event with this reason about an object of this name whose message contains text, and
// returns the message.
func (c *Cluster) AwaitMessage(name, reason, text string) string {
	c.Helper()
	event := Ref("v1", "Event", "")
	selector := fields.SelectorFromSet(fields.Set{"involvedObject.name": name, "reason": reason})
	found := c.await(c.of(event), selector, "an Event "+reason+" about "+name,
		func(live *unstructured.Unstructured) error {
			if live == nil {
				return errAbsent
			}
			if message, _, _ := unstructured.NestedString(live.Object, "message"); !strings.Contains(message, text) {
				return fmt.Errorf("want %q in its message, which is %q", text, message)
			}
			return nil
		})
	message, _, _ := unstructured.NestedString(found.Object, "message")
	return message
}

// await lists and watches what a selector selects until holds returns nil for one object. holds gets nil if there is
// none.
func (c *Cluster) await(where dynamic.ResourceInterface, selector fields.Selector, what string, holds func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), c.patience)
	defer cancel()
	w := &wait{where: where, selector: selector.String(), holds: holds}
	for ctx.Err() == nil {
		if w.listAndWatch(ctx) {
			return w.live
		}
	}
	text := "nothing"
	if w.live != nil {
		w.live.SetManagedFields(nil)
		if data, err := yaml.Marshal(w.live.Object); err == nil {
			text = string(data)
		}
	}
	c.Fatalf("gave up on %s after %s: %v\nthere is now:\n%s", what, c.patience, w.wrong, text)
	return nil
}

// wait is a wait for one object.
type wait struct {
	where    dynamic.ResourceInterface
	selector string
	holds    func(*unstructured.Unstructured) error

	live  *unstructured.Unstructured // as last seen
	wrong error                      // the last error of holds
}

// check records the current object, and reports whether holds accepts it.
func (w *wait) check(live *unstructured.Unstructured) bool {
	w.live, w.wrong = live, w.holds(live)
	return w.wrong == nil
}

// listAndWatch lists, and watches from there until holds accepts an object or the watch ends.
func (w *wait) listAndWatch(ctx context.Context) bool {
	list, err := w.where.List(ctx, metav1.ListOptions{FieldSelector: w.selector})
	if err != nil {
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
			w.wrong = err
		}
		return false
	}
	if len(list.Items) == 0 && w.check(nil) {
		return true
	}
	for i := range list.Items {
		if w.check(&list.Items[i]) {
			return true
		}
	}
	watcher, err := w.where.Watch(ctx, metav1.ListOptions{FieldSelector: w.selector, ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return false
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		obj, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error || event.Type == watch.Bookmark {
			return false
		}
		if event.Type == watch.Deleted {
			obj = nil
		}
		if w.check(obj) {
			return true
		}
	}
	return false
}
