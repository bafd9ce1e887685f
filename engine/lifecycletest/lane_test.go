package lifecycletest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
)

// lane is one engine with its own namespace of rules, and the namespaces of the
// sequences that run on it.
type lane struct {
	t *testing.T
	*cluster

	kanon  string
	homes  []string
	aways  []string
	log    *engineLog
	writes *requestLog
	end    func() // nil while the engine is stopped
}

func newLane(t *testing.T, c *cluster, width int) *lane {
	t.Helper()
	l := &lane{t: t, cluster: c, kanon: controlplanetest.Namespace(t, c.config), writes: &requestLog{}, log: &engineLog{}}
	for range width {
		l.homes = append(l.homes, controlplanetest.Namespace(t, c.config))
		l.aways = append(l.aways, controlplanetest.Namespace(t, c.config))
	}
	return l
}

// start starts an engine, unless one runs.
func (l *lane) start() {
	if l.end != nil {
		return
	}
	config := rest.CopyConfig(l.config)
	config.Wrap(l.writes.wrap)
	options := kanontest.EngineOptions(l.t, config, l.kanon)
	options.Recorder = &record.FakeRecorder{} // drops them
	options.RetryMax = time.Second
	e, err := engine.New(options)
	if err != nil {
		l.t.Fatal(err)
	}
	log := logr.Discard()
	if *logs {
		log = logr.New(logSink{log: l.log})
	}
	ctx, cancel := context.WithCancel(logr.NewContext(context.Background(), log))
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	l.end = func() {
		cancel()
		if err := <-done; err != nil {
			l.t.Errorf("the engine ended with %v", err)
		}
	}
}

// stop ends the engine, whatever it is doing, and tells the sequences' models.
func (l *lane) stop(sequences []*sequence) {
	if l.end == nil {
		return
	}
	l.end()
	l.end = nil
	for _, s := range sequences {
		s.model.stop()
	}
}

// settle waits until the engine has sent nothing for a while.
func (l *lane) settle() {
	const span = time.Second
	for deadline := time.Now().Add(*patience); time.Now().Before(deadline); {
		before := l.writes.total()
		<-time.After(span)
		if l.writes.total() == before {
			return
		}
	}
	l.t.Errorf("the engine never stopped writing for %s", span)
}

// run has a batch of sequences live their lives side by side.
func (l *lane) run(sequences []*sequence, rounds []roundEnd) {
	l.start()
	defer func() { l.stop(sequences) }()
	for i, end := range rounds {
		inParallel(sequences, func(s *sequence) { s.perform(i) })
		switch end {
		case endRest:
			l.start()
			inParallel(sequences, func(s *sequence) { s.rest("after round " + string(rune('0'+i))) })
		case endRestart:
			l.stop(sequences)
			l.start()
		case endStop:
			l.stop(sequences)
		case endNothing:
			l.start()
		}
	}
	l.start()
	inParallel(sequences, (*sequence).finish)
	l.checkFreshStart(sequences)
	inParallel(sequences, (*sequence).tearDown)
}

// checkFreshStart restarts the engine with everything in place: it must write
// nothing.
func (l *lane) checkFreshStart(sequences []*sequence) {
	l.settle()
	l.stop(sequences)
	l.writes.clear()
	l.start()
	inParallel(sequences, func(s *sequence) {
		s.ruled = true // so that it is this engine which rests
		s.rest("after a fresh start")
	})
	l.settle()
	for _, s := range sequences {
		if s.failure != "" {
			continue
		}
		fence, _ := s.fenceText()
		for _, request := range l.writes.about(s.names) {
			if strings.Contains(request.text, "/kanon-state-") || strings.Contains(request.text, "/"+fence) {
				continue // it may forget a kind of which nothing was left at its start, and says what it thinks of the fence
			}
			s.fail("a fresh start with everything in place sent " + request.text)
		}
	}
}

// inParallel runs f for those that have not failed.
func inParallel(sequences []*sequence, f func(*sequence)) {
	var group sync.WaitGroup
	for _, s := range sequences {
		if s.failure == "" {
			group.Go(func() { f(s) })
		}
	}
	group.Wait()
}

// sentWrite is one request: VERB PATH, and the body of a patch.
type sentWrite struct {
	at   time.Time
	text string
}

// requestLog records the writes of an engine.
type requestLog struct {
	mu      sync.Mutex
	entries []sentWrite
	count   int // of all requests but watches
}

func (l *requestLog) wrap(next http.RoundTripper) http.RoundTripper {
	return kanontest.RoundTripper(func(r *http.Request) (*http.Response, error) {
		l.mu.Lock()
		if r.URL.Query().Get("watch") == "" {
			l.count++
		}
		if r.Method != http.MethodGet {
			entry := r.Method + " " + r.URL.Path
			if r.Method == http.MethodPatch && r.GetBody != nil {
				if body, err := r.GetBody(); err == nil {
					text, _ := io.ReadAll(body)
					entry += " " + string(text)
				}
			}
			l.entries = append(l.entries, sentWrite{time.Now(), entry})
		}
		l.mu.Unlock()
		return next.RoundTrip(r)
	})
}

func (l *requestLog) total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

func (l *requestLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// about lists the writes of objects whose name begins with a prefix, or in a
// namespace.
func (l *requestLog) about(n names) []sentWrite {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []sentWrite
	for _, entry := range l.entries {
		if strings.Contains(entry.text, "/"+n.prefix) || strings.Contains(entry.text, "/"+n.home+"/") || strings.Contains(entry.text, "/"+n.away+"/") {
			found = append(found, entry)
		}
	}
	return found
}

// circumstances are what there is to know of a sequence that failed.
func (l *lane) circumstances(s *sequence) []string {
	lines := l.log.about(s.names)
	now := time.Now().Format(clock)
	for _, name := range s.ruleNames() {
		for _, object := range []string{name, "kanon-state-" + mark.RuleID(l.kanon, l.kanon, name)} {
			live, err := l.at(configMap, l.kanon).Get(l.t.Context(), object, metav1.GetOptions{})
			if err == nil {
				lines = append(lines, fmt.Sprintf("%s%s: %v %v", now, object, live.GetAnnotations(), live.Object["data"]))
			}
		}
	}
	objects, _ := l.view(s.prefix, newWrites())
	for id, obj := range objects {
		lines = append(lines, fmt.Sprintf("%s%s: %s labels %v annotations %v owners %v finalizers %v, deleted %v", now, id,
			obj.GetUID(), obj.GetLabels(), obj.GetAnnotations(), obj.GetOwnerReferences(), obj.GetFinalizers(), obj.GetDeletionTimestamp()))
	}
	return lines
}

// clean removes what a sequence left behind on purpose, or because it failed.
func (l *lane) clean(s *sequence) {
	ctx := l.t.Context()
	fence, _ := s.fenceText()
	for _, name := range append(s.ruleNames(), fence) {
		_ = l.at(configMap, l.kanon).Delete(ctx, name, metav1.DeleteOptions{}) // gone already at best
	}
	objects, _ := l.view(s.prefix, newWrites())
	for id, obj := range objects {
		if len(obj.GetFinalizers()) > 0 {
			_, _ = l.at(id.kind, id.namespace).Patch(ctx, id.name, mergePatch, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		}
		_ = l.at(id.kind, id.namespace).Delete(ctx, id.name, metav1.DeleteOptions{})
	}
	l.drop(s.prefix)
}
