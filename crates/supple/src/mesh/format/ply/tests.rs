//! Tests of the PLY reader and writer.
