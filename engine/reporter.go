package engine

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

	"kanon.dev/kanon/engine/source"
)

const (
	// reportRetry is the first pause before a verdict that could not be given is tried
	// again; the pause grows up to reportRetryMax.
	reportRetry    = 5 * time.Second
	reportRetryMax = 5 * time.Minute
	// reportWorkers is how many verdicts are given at the same time.
	reportWorkers = 4
)

// reporter tells the sources the verdict on each origin, which they compare with what the
// origin says, and the log and the Events what changed in it. Nobody waits for it.
type reporter struct {
	sources []Source
	notices *notices
	// reference is the object of a rule in a file.
	reference func(id string) *corev1.ObjectReference
	errands   *errands[source.Origin]

	mu sync.Mutex
	// wanted are the verdicts to give, and told those that were given last. Guarded by mu.
	wanted, told map[source.Origin]source.Report
}

func newReporter(sources []Source, notices *notices, reference func(id string) *corev1.ObjectReference) *reporter {
	return &reporter{
		sources: sources, notices: notices, reference: reference,
		errands: newErrands[source.Origin](reportRetry, reportRetryMax, nil),
		wanted:  make(map[source.Origin]source.Report),
		told:    make(map[source.Origin]source.Report),
	}
}

func (r *reporter) run(ctx context.Context) { r.errands.run(ctx, reportWorkers, r.tell) }

// report has verdicts told, and those on origins forgotten that are not there any more.
func (r *reporter) report(reports map[source.Origin]source.Report, exists func(source.Origin) bool) {
	r.mu.Lock()
	gone := func(origin source.Origin, _ source.Report) bool { return !exists(origin) }
	maps.DeleteFunc(r.wanted, gone)
	maps.DeleteFunc(r.told, gone)
	maps.Copy(r.wanted, reports)
	r.mu.Unlock()
	for origin := range reports {
		r.errands.ask(origin)
	}
}

// tell gives the verdict on an origin, as it is now.
func (r *reporter) tell(ctx context.Context, origin source.Origin) (done bool) {
	r.mu.Lock()
	report, wanted := r.wanted[origin]
	previous, told := r.told[origin]
	r.mu.Unlock()
	if !wanted {
		return true
	}
	var changed bool
	err := withLimit(ctx, func(ctx context.Context) (err error) {
		changed, err = r.tellSource(ctx, origin, report)
		return err
	})
	if ctx.Err() != nil {
		return true
	}
	if err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "reporting on rules; trying again", "source", origin.String())
	}
	if told && equalReports(previous, report) {
		return err == nil // at the most, somebody had taken it away
	}
	r.mu.Lock()
	r.told[origin] = report
	r.mu.Unlock()
	logReport(ctx, origin, report) // also where the origin cannot be told
	if changed {
		r.notices.report(origin, report)
	}
	if origin.Path != "" {
		r.notices.reportFile(previous, report, r.reference)
	}
	return err == nil
}

// tellSource gives a verdict to the source that can take it.
func (r *reporter) tellSource(ctx context.Context, origin source.Origin, report source.Report) (changed bool, err error) {
	if origin.Path != "" {
		return false, nil // a file's verdict is in the log, and in Events at the records of its rules
	}
	for _, src := range r.sources {
		if reporter, ok := src.(Reporter); ok && covers(src, origin) {
			return reporter.Report(ctx, origin, report)
		}
	}
	return false, nil
}

// logReport writes what an operator of Kanon should know of an origin, one
// finding a line.
func logReport(ctx context.Context, origin source.Origin, report source.Report) {
	log := logr.FromContextOrDiscard(ctx).WithValues("source", origin.String())
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
		for line := range strings.Lines(r.Message) {
			log.Error(errors.New(strings.TrimSuffix(line, "\n")), "rule not in force as written", "rule", r.Name)
		}
	}
}

func equalReports(a, b source.Report) bool {
	return a.Ready == b.Ready && a.Message == b.Message && slices.Equal(a.Rules, b.Rules)
}
