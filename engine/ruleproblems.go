package engine

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/guard"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/rules/program"
)

// problems returns the ids of the rules that are starting, and why rules do not run as written. A rule is starting
// until its record is written and its informers have synced. Until that fails, it counts as in force, so that a restart
// in a large cluster changes no report.
func (l *catalogLoop) problems() (starting map[string]bool, failing map[string]catalog.Failure) {
	e := l.engine
	starting, failing = make(map[string]bool), make(map[string]catalog.Failure)
	fail := func(id, format string, args ...any) {
		failing[id] = catalog.Failure{Message: fmt.Sprintf("it cannot start: "+format, args...)}
	}
	if loaded, err := e.records.IsLoaded(); !loaded {
		failure := e.keys.Failure()
		for _, rule := range l.catalog.Rules() {
			starting[rule.ID] = true
			switch {
			case err != nil:
				fail(rule.ID, "the records of rules cannot be read: %v", err)
			case failure != nil && e.keys.Keyring() == nil:
				fail(rule.ID, "the keys that prove which objects Kanon made cannot be read: %v", failure)
			}
		}
		return starting, failing
	}
	running := e.running.Load().ByID
	for id, op := range running {
		if !e.hasRecord(op) {
			starting[id] = true
			if err := e.records.Failure(id); errors.As(err, new(*record.NewerError)) {
				fail(id, "%v", err)
				continue
			} else if err != nil {
				fail(id, "its record cannot be written: %v", err)
				continue
			}
		}
		for _, key := range op.Informers() {
			if e.monitors.HasSynced(key) {
				continue
			}
			starting[id] = true
			if err := e.monitors.Failure(key); err != nil {
				fail(id, "%v", err)
				break
			}
		}
	}
	l.addDenied(failing)
	l.addBlocked(starting, failing)
	return starting, failing
}

// lacksReviews reports whether a rule cannot run because no Reviewer can answer what its ServiceAccount may do.
func (l *catalogLoop) lacksReviews(of *program.Program) bool {
	return of.ServiceAccountName != "" && l.engine.options.Reviewer == nil
}

// addDenied adds the rules whose ServiceAccount lacks rights or cannot be reviewed.
func (l *catalogLoop) addDenied(failing map[string]catalog.Failure) {
	for _, rule := range l.catalog.Rules() {
		if rule.Program != nil && l.lacksReviews(rule.Program) {
			failing[rule.ID] = catalog.Failure{Message: "it cannot start: Kanon was started without the means to act for a ServiceAccount"}
		}
	}
	for id, op := range l.engine.running.Load().ByID {
		what, parents := l.engine.parents.Denied(id)
		if parents == 0 {
			continue
		}
		if !op.Identity.Confined { // a tenant must not learn how many objects it may not read
			what += fmt.Sprintf(" (for %d of its parents)", parents)
		}
		message := fmt.Sprintf("%s\nto grant what the rule needs: kanon rbac %s --service-account %s | kubectl apply -f -",
			what, cmp.Or(op.Origin.Path, "FILE"), op.Identity.ServiceAccount)
		failing[id] = catalog.Failure{Reason: conditions.ReasonForbidden, Message: message}
	}
}

// addBlocked adds the rules whose revision the guard blocks. They count as starting until the record lists the objects,
// because readers of the report look there.
func (l *catalogLoop) addBlocked(starting map[string]bool, failing map[string]catalog.Failure) {
	e := l.engine
	for id, op := range e.running.Load().ByID {
		blocked := e.guards.blocked(op)
		if blocked == nil {
			continue
		}
		message := messageOf(blocked)
		if stored, ok := e.records.Get(id); ok && !reflect.DeepEqual(stored.Blocked, blockedRecord(op, blocked)) {
			starting[id] = true
		}
		if op.Origin.Path != "" {
			what, why, _ := strings.Cut(message, "\n")
			message = fmt.Sprintf("%s; kanon confirm-prune %s writes that to the record of the rule, or write it to metadata.annotations of the rule in %s\n%s",
				what, op.Name, op.Origin.Path, why)
		}
		failing[id] = catalog.Failure{Reason: conditions.ReasonPruneHeld, Message: message}
	}
}

// messageOf is the report on a rule whose revision the guard blocks.
func messageOf(blocked *guard.Blocked) string {
	return conditions.ReasonPruneHeld + ": " + blocked.String()
}
