package enginetest

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// What a late body has is what the body has, a while later each time, and Close ends
// a Read that waits.
func TestLateBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		body := newLateBody(reader, time.Second)
		go func() {
			for _, text := range []string{"first", "second"} {
				if _, err := io.WriteString(writer, text); err != nil {
					t.Error(err)
				}
			}
		}()
		begin := time.Now()
		got := make([]byte, len("firstsecond"))
		for at := 0; at < len(got); {
			n, err := body.Read(got[at:min(at+4, len(got))])
			if err != nil {
				t.Fatal(err)
			}
			at += n
		}
		if late := time.Since(begin); string(got) != "firstsecond" || late != time.Second {
			t.Errorf("it gave %q after %s", got, late)
		}
		done := make(chan error)
		go func() {
			_, err := body.Read(got)
			done <- err
		}()
		synctest.Wait()
		if err := body.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, io.EOF) {
			t.Errorf("a Read after the end: %v", err)
		}
	})
}
