package watch

import (
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
)

// framer finds the objects in a stream of JSON. client-go's own does the same by decoding them.
type framer struct{ runtime.Framer }

// NewFrameReader implements runtime.Framer.
func (framer) NewFrameReader(r io.ReadCloser) io.ReadCloser { return &frames{source: r} }

// frames reads one object after the other. Read follows the rules of runtime.Framer: where an object is larger than the
// buffer, it gives what fits and io.ErrShortBuffer, and goes on at the next call.
type frames struct {
	source io.ReadCloser
	// buffer holds what was read of the source and not yet given away; the first scanned bytes of it are of the object
	// at hand. It is a part of memory.
	buffer, memory []byte
	scanned        int
	// rest is what is left of an object that is being given away.
	rest []byte

	depth            int
	quoted, escaping bool
}

const readSize = 16 << 10

func (f *frames) Read(data []byte) (int, error) {
	if len(f.rest) == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	n := copy(data, f.rest)
	if f.rest = f.rest[n:]; len(f.rest) > 0 {
		return n, io.ErrShortBuffer
	}
	return n, nil
}

// Close implements io.Closer.
func (f *frames) Close() error { return f.source.Close() }

// next sets rest to the next object. White space between two objects is part of neither.
func (f *frames) next() error {
	for !f.scan() {
		if cap(f.buffer)-len(f.buffer) < readSize/4 {
			f.makeRoom()
		}
		n, err := f.source.Read(f.buffer[len(f.buffer):cap(f.buffer)])
		f.buffer = f.buffer[:len(f.buffer)+n]
		if n > 0 {
			continue // an error comes again
		}
		if errors.Is(err, io.EOF) && f.scanned > skipSpace(f.buffer, 0) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	f.rest = f.buffer[skipSpace(f.buffer, 0):f.scanned]
	f.buffer, f.scanned = f.buffer[f.scanned:], 0
	return nil
}

// makeRoom moves what is in the buffer to the beginning of its memory or, where it fills half of that, of a larger one.
func (f *frames) makeRoom() {
	if len(f.buffer) >= cap(f.memory)/2 {
		f.memory = make([]byte, 0, 2*len(f.buffer)+readSize)
	}
	f.buffer = append(f.memory[:0], f.buffer...)
}

// scan goes on until the object at hand ends, and tells whether it does.
func (f *frames) scan() bool {
	for ; f.scanned < len(f.buffer); f.scanned++ {
		c := f.buffer[f.scanned]
		switch {
		case f.escaping:
			f.escaping = false
		case f.quoted:
			f.escaping, f.quoted = c == '\\', c != '"'
		case c == '"':
			f.quoted = true
		case c == '{' || c == '[':
			f.depth++
		case c == '}' || c == ']':
			if f.depth--; f.depth <= 0 {
				f.depth = 0
				f.scanned++
				return true
			}
		}
	}
	return false
}
