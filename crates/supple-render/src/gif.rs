//! Animations as GIF files (CompuServe 89a). Each frame has its own palette and contains only the pixels that changed
//! visibly, so still backgrounds cost nothing and do not flicker.

use std::io::Write;

use gif::{DisposalMethod, Encoder, EncodingError, Repeat};

use super::image::Image;
use super::palette::Palette;
use supple_core::Error;

/// Colours in a frame's palette; the index after the last means "unchanged".
const COLORS: usize = 255;
/// A pixel is drawn again when a component differs by more than this from what it last showed.
const TOLERANCE: u8 = 2;
/// Viewers slow down frames shorter than this, in hundredths of a second.
const SHORTEST_DELAY: f64 = 2.0;

/// Writes an animation frame by frame; it loops forever.
pub struct GifWriter<W: Write> {
    encoder: Encoder<W>,
    width: u32,
    height: u32,
    fps: f64,
    frames: u32,
    /// The colour each pixel had when it was last drawn.
    shown: Vec<[u8; 3]>,
}

impl<W: Write> GifWriter<W> {
    /// Starts a file of this size in pixels. More than 50 frames per second play as 50, since no GIF plays faster.
    pub fn new(out: W, width: u32, height: u32, fps: f64) -> Result<Self, Error> {
        if !(fps > 0.0 && fps.is_finite()) {
            return Err(Error::Invalid(format!(
                "the animation has {fps} frames per second; use more than 0"
            )));
        }
        let (Ok(w @ 1..), Ok(h @ 1..)) = (u16::try_from(width), u16::try_from(height)) else {
            let message = format!("a GIF cannot be {width} x {height} pixels; use 1 to 65535 on each side");
            return Err(Error::Invalid(message));
        };
        let mut encoder = Encoder::new(out, w, h, &[]).map_err(cannot_write)?;
        encoder.set_repeat(Repeat::Infinite).map_err(cannot_write)?;
        Ok(Self {
            encoder,
            width,
            height,
            fps: fps.min(100.0 / SHORTEST_DELAY),
            frames: 0,
            shown: Vec::new(),
        })
    }

    /// Appends a picture of the file's size; transparent pixels are shown on white.
    pub fn add(&mut self, image: &Image) -> Result<(), Error> {
        if (image.width(), image.height()) != (self.width, self.height) {
            return Err(Error::Invalid(format!(
                "picture {} of the animation is {} x {} pixels, but the previous ones are {} x {}",
                self.frames,
                image.width(),
                image.height(),
                self.width,
                self.height
            )));
        }
        let pixels: Vec<[u8; 3]> = image.pixels().iter().map(|&p| on_white(p)).collect();
        let changed = self.changed(&pixels);
        let [left, top, width, height] = self.changed_box(&changed);
        let drawn = pixels.iter().zip(&changed).filter(|(_, c)| **c).map(|(p, _)| *p);
        let mut palette = Palette::new(drawn, COLORS);
        let bytes = palette.bytes();
        let same = (bytes.len() / 3) as u8;
        let mut indices = Vec::with_capacity(width * height);
        for y in top..top + height {
            for x in left..left + width {
                let i = y * self.width as usize + x;
                indices.push(if changed[i] { palette.index(pixels[i], x, y) } else { same });
            }
        }
        self.keep(pixels, &changed);
        let [left, top, width, height] = [left, top, width, height].map(|side| side as u16);
        let frame = gif::Frame {
            delay: self.next_delay(),
            dispose: DisposalMethod::Keep,
            transparent: Some(same),
            palette: Some([bytes, vec![255; 3]].concat()),
            buffer: indices.into(),
            left,
            top,
            width,
            height,
            ..gif::Frame::default()
        };
        self.encoder.write_frame(&frame).map_err(cannot_write)
    }

    /// Ends the file and returns the writer.
    pub fn finish(self) -> Result<W, Error> {
        self.encoder.into_inner().map_err(cannot_write)
    }

    /// Pictures written so far.
    pub fn frames(&self) -> u32 {
        self.frames
    }

    fn changed(&self, pixels: &[[u8; 3]]) -> Vec<bool> {
        if self.shown.is_empty() {
            return vec![true; pixels.len()];
        }
        let differs = |(a, b): (&[u8; 3], &[u8; 3])| a.iter().zip(b).any(|(a, b)| a.abs_diff(*b) > TOLERANCE);
        pixels.iter().zip(&self.shown).map(differs).collect()
    }

    /// Left, top, width and height of the changed rectangle; one pixel if nothing changed.
    fn changed_box(&self, changed: &[bool]) -> [usize; 4] {
        let (mut low, mut high) = ([usize::MAX; 2], [0; 2]);
        for i in (0..changed.len()).filter(|&i| changed[i]) {
            let place = [i % self.width as usize, i / self.width as usize];
            for k in 0..2 {
                (low[k], high[k]) = (low[k].min(place[k]), high[k].max(place[k]));
            }
        }
        if low[0] == usize::MAX {
            return [0, 0, 1, 1];
        }
        [low[0], low[1], high[0] + 1 - low[0], high[1] + 1 - low[1]]
    }

    fn keep(&mut self, pixels: Vec<[u8; 3]>, changed: &[bool]) {
        if self.shown.is_empty() {
            self.shown = pixels;
            return;
        }
        for ((shown, pixel), _) in self.shown.iter_mut().zip(pixels).zip(changed).filter(|(_, c)| **c) {
            *shown = pixel;
        }
    }

    /// Delays are whole hundredths of a second; rounding the times of frames keeps the animation's length.
    fn next_delay(&mut self) -> u16 {
        let time = |frame: u32| (f64::from(frame) * 100.0 / self.fps).round();
        let delay = time(self.frames + 1) - time(self.frames);
        self.frames += 1;
        delay as u16
    }
}

/// Writes all pictures as one animation; returns how many there were. The first error of the pictures ends it.
pub fn write_gif(
    images: impl IntoIterator<Item = Result<Image, Error>>,
    fps: f64,
    out: impl Write,
) -> Result<u32, Error> {
    let mut images = images.into_iter();
    let Some(first) = images.next() else {
        return Err(Error::Invalid("an animation needs at least one frame".into()));
    };
    let first = first?;
    let mut writer = GifWriter::new(out, first.width(), first.height(), fps)?;
    writer.add(&first)?;
    for image in images {
        writer.add(&image?)?;
    }
    let frames = writer.frames();
    writer.finish()?;
    Ok(frames)
}

fn on_white(pixel: [u8; 4]) -> [u8; 3] {
    let alpha = u32::from(pixel[3]);
    std::array::from_fn(|k| ((u32::from(pixel[k]) * alpha + 255 * (255 - alpha) + 127) / 255) as u8)
}

fn cannot_write(error: EncodingError) -> Error {
    Error::Invalid(format!("the animation cannot be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grey disc that moves over a gradient.
    fn picture(step: u32) -> Image {
        let mut image = Image::filled(80, 60, [255; 4]);
        for (i, p) in image.pixels_mut().iter_mut().enumerate() {
            let (x, y) = ((i % 80) as i32, (i / 80) as i32);
            let (dx, dy) = (x - 20 - 4 * step as i32, y - 30);
            let inside = dx * dx + dy * dy < 150;
            *p = if inside { [90, 90, 200, 255] } else { [(150 + x) as u8, (160 + y) as u8, 220, 255] };
        }
        image
    }

    /// All frames as a viewer shows them, with their delays.
    fn played(file: &[u8]) -> Vec<(Vec<[u8; 3]>, u16)> {
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(file).unwrap();
        assert_eq!((decoder.width(), decoder.height()), (80, 60));
        let mut screen = vec![[0; 3]; 80 * 60];
        let mut frames = Vec::new();
        while let Some(frame) = decoder.read_next_frame().unwrap() {
            let width = usize::from(frame.width);
            for (i, p) in frame.buffer.chunks(4).enumerate().filter(|(_, p)| p[3] > 0) {
                let (x, y) = (usize::from(frame.left) + i % width, usize::from(frame.top) + i / width);
                screen[y * 80 + x] = [p[0], p[1], p[2]];
            }
            frames.push((screen.clone(), frame.delay));
        }
        frames
    }

    #[test]
    fn animation_plays_back_the_pictures_in_time() {
        let mut file = Vec::new();
        assert_eq!(write_gif((0..7).map(|s| Ok(picture(s))), 30.0, &mut file).unwrap(), 7);
        let frames = played(&file);
        assert_eq!(frames.len(), 7);
        assert_eq!(frames.iter().map(|f| u32::from(f.1)).sum::<u32>(), 23);
        for (step, (screen, _)) in frames.iter().enumerate() {
            let original = picture(step as u32);
            let worst =
                screen.iter().zip(original.pixels()).map(|(a, b)| (0..3).map(|k| a[k].abs_diff(b[k])).max());
            let worst = worst.max().unwrap().unwrap();
            assert!(worst <= 12, "a component is off by {worst} in frame {step}");
        }
    }

    #[test]
    fn still_pictures_cost_next_to_nothing() {
        let size = |count| {
            let mut file = Vec::new();
            write_gif((0..count).map(|_| Ok(picture(0))), 25.0, &mut file).unwrap();
            assert_eq!(played(&file).len(), count);
            file.len()
        };
        assert!(size(10) - size(1) < 9 * 64);
    }

    #[test]
    fn unusable_requests_are_refused() {
        for fps in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(GifWriter::new(Vec::new(), 4, 4, fps).is_err());
        }
        assert!(GifWriter::new(Vec::new(), 0, 4, 10.0).is_err());
        assert!(GifWriter::new(Vec::new(), 70_000, 4, 10.0).is_err());
        assert!(write_gif(std::iter::empty(), 10.0, Vec::new()).is_err());
        let other = Image::filled(3, 3, [0; 4]);
        let error = write_gif([Ok(picture(0)), Ok(other)], 10.0, Vec::new()).unwrap_err().to_string();
        assert!(error.contains("picture 1") && error.contains("3 x 3"), "{error}");
    }

    #[test]
    fn an_error_among_the_pictures_comes_through() {
        let images = [Ok(picture(0)), Err(Error::Invalid("frame 1 is damaged".into()))];
        let error = write_gif(images, 10.0, Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "frame 1 is damaged");
    }
}
