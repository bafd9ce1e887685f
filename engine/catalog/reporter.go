package catalog

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/source"
)

const (
	// reportRetry is the first pause before a report that could not be written is tried again. The pause grows up to
	// reportRetryMax.
	reportRetry    = 5 * time.Second
	reportRetryMax = 5 * time.Minute
	// reportWorkers is how many reports are written in parallel.
	reportWorkers = 4
)

// Recipient is a source that can write reports to its origins. It compares a report with what the origin has.
type Recipient interface {
	// Covers reports whether the source would find what is at an origin.
	Covers(origin source.Origin) bool
	// Report writes a report to its origin, and reports whether the previous one was different.
	Report(ctx context.Context, origin source.Origin, report source.Report) (changed bool, err error)
}

// ReporterOptions are the dependencies of a Reporter. All are required.
type ReporterOptions struct {
	// Counter counts the reports that are being written.
	Counter    *queue.Counter
	Recipients []Recipient
	// Recorder records the Events.
	Recorder record.EventRecorder
	// RecordOf returns the record of a rule by its id, for Events about a rule in a file; nil if there is none.
	RecordOf func(id string) *corev1.ObjectReference
}

// Reporter writes the reports to the origins of rules, and puts changes into the log and the Events.
type Reporter struct {
	recipients []Recipient
	events     events
	queue      *requests[source.Origin]

	mu sync.Mutex
	// wanted are the reports to write, and given the last ones that were written. Guarded by mu.
	wanted, given map[source.Origin]source.Report
}

// NewReporter starts goroutines, which end when Run returns.
func NewReporter(options ReporterOptions) *Reporter {
	return &Reporter{
		recipients: options.Recipients,
		events:     events{recorder: options.Recorder, recordOf: options.RecordOf},
		queue:      newRequests[source.Origin](options.Counter, reportRetry, reportRetryMax),
		wanted:     make(map[source.Origin]source.Report),
		given:      make(map[source.Origin]source.Report),
	}
}

// Run writes reports until ctx ends.
func (r *Reporter) Run(ctx context.Context) { r.queue.Run(ctx, reportWorkers, r.reportOne) }

// Report requests that reports be written, and forgets origins that no longer exist.
func (r *Reporter) Report(reports map[source.Origin]source.Report, exists func(source.Origin) bool) {
	r.mu.Lock()
	gone := func(origin source.Origin, _ source.Report) bool { return !exists(origin) }
	maps.DeleteFunc(r.wanted, gone)
	maps.DeleteFunc(r.given, gone)
	maps.Copy(r.wanted, reports)
	r.mu.Unlock()
	for origin := range reports {
		r.queue.Add(origin)
	}
}

// reportOne writes the newest report of an origin.
func (r *Reporter) reportOne(ctx context.Context, origin source.Origin) (done bool) {
	r.mu.Lock()
	report, wanted := r.wanted[origin]
	before, given := r.given[origin]
	r.mu.Unlock()
	if !wanted {
		return true
	}
	var changed bool
	err := withTimeout(ctx, func(ctx context.Context) (err error) {
		changed, err = r.give(ctx, origin, report)
		return err
	})
	if ctx.Err() != nil {
		return true
	}
	if err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "Cannot report on rules; retrying", "source", origin.String())
	}
	if given && isSameReport(before, report) {
		return err == nil // if it was written now, somebody had removed it
	}
	r.mu.Lock()
	r.given[origin] = report
	r.mu.Unlock()
	logReport(ctx, origin, report) // even if it could not be written
	if changed {
		r.events.objectChanged(origin, report)
	}
	if origin.Path != "" {
		r.events.fileChanged(before, report)
	}
	return err == nil
}

// give passes a report to the source that has the origin. A file cannot store it.
func (r *Reporter) give(ctx context.Context, origin source.Origin, report source.Report) (changed bool, err error) {
	if origin.Path != "" {
		return false, nil
	}
	for _, recipient := range r.recipients {
		if recipient.Covers(origin) {
			return recipient.Report(ctx, origin, report)
		}
	}
	return false, nil
}

// logReport logs a report, one finding a line: warnings as information, because the rules are in force nevertheless.
func logReport(ctx context.Context, origin source.Origin, report source.Report) {
	log := logr.FromContextOrDiscard(ctx).WithValues("source", origin.String())
	for _, r := range report.Rules {
		for warning := range strings.Lines(r.Warnings) {
			log.Info("warning about a rule", "rule", r.Name, "warning", strings.TrimSuffix(warning, "\n"))
		}
	}
	if report.Ready {
		log.Info("rules accepted", "verdict", report.Message)
		return
	}
	for _, problem := range report.Problems {
		log.Error(errors.New(problem), "rules not in force as written")
	}
	for _, r := range report.Rules {
		if r.Ready {
			continue
		}
		if r.Waiting {
			log.Info("rule waits for a kind", "rule", r.Name, "verdict", r.Message)
			continue
		}
		warnings := strings.Split(r.Warnings, "\n")
		for line := range strings.Lines(r.Message) {
			if line = strings.TrimSuffix(line, "\n"); !slices.Contains(warnings, line) {
				log.Error(errors.New(line), "rule not in force as written", "rule", r.Name)
			}
		}
	}
}

func isSameReport(a, b source.Report) bool {
	return a.Ready == b.Ready && a.Message == b.Message && slices.Equal(a.Rules, b.Rules)
}
