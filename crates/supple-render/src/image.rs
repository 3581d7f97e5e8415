//! A picture in memory and its PNG file (ISO/IEC 15948).

use std::io::{self, Write};

/// A picture: 8-bit sRGB with straight (not premultiplied) alpha, rows from the top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    width: u32,
    height: u32,
    pixels: Vec<[u8; 4]>,
}

impl Image {
    /// A picture of one colour.
    pub fn filled(width: u32, height: u32, color: [u8; 4]) -> Self {
        Self { width, height, pixels: vec![color; width as usize * height as usize] }
    }

    /// Width in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// All pixels, row by row from the top left.
    pub fn pixels(&self) -> &[[u8; 4]] {
        &self.pixels
    }

    /// All pixels, mutable.
    pub fn pixels_mut(&mut self) -> &mut [[u8; 4]] {
        &mut self.pixels
    }

    /// The pixel in column `x` and row `y`, counted from the top left.
    ///
    /// # Panics
    /// If the pixel lies outside.
    pub fn pixel(&self, x: u32, y: u32) -> [u8; 4] {
        assert!(x < self.width && y < self.height, "pixel ({x}, {y}) of {}x{}", self.width, self.height);
        self.pixels[y as usize * self.width as usize + x as usize]
    }

    /// Writes a PNG file: RGB if every pixel is opaque, else RGBA.
    pub fn write_png(&self, out: impl Write) -> io::Result<()> {
        let opaque = self.pixels.iter().all(|p| p[3] == 255);
        let mut encoder = png::Encoder::new(out, self.width, self.height);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_color(if opaque { png::ColorType::Rgb } else { png::ColorType::Rgba });
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        encoder.set_compression(png::Compression::Balanced);
        let mut writer = encoder.write_header()?;
        if opaque {
            let rgb: Vec<u8> = self.pixels.iter().flat_map(|p| [p[0], p[1], p[2]]).collect();
            writer.write_image_data(&rgb)?;
        } else {
            writer.write_image_data(self.pixels.as_flattened())?;
        }
        Ok(writer.finish()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(file: &[u8]) -> (u32, u32, png::ColorType, Vec<u8>) {
        let mut reader = png::Decoder::new(io::Cursor::new(file)).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        bytes.truncate(info.buffer_size());
        (info.width, info.height, info.color_type, bytes)
    }

    fn noise(alpha: impl Fn(usize) -> u8) -> Image {
        let mut image = Image::filled(37, 11, [0; 4]);
        for (i, p) in image.pixels_mut().iter_mut().enumerate() {
            *p = [(i * 7 % 256) as u8, (i * 13 % 251) as u8, (i * i % 241) as u8, alpha(i)];
        }
        image
    }

    #[test]
    fn opaque_png_decodes_to_the_same_pixels() {
        let image = noise(|_| 255);
        let mut file = Vec::new();
        image.write_png(&mut file).unwrap();
        let rgb: Vec<u8> = image.pixels().iter().flat_map(|p| [p[0], p[1], p[2]]).collect();
        assert_eq!(decoded(&file), (37, 11, png::ColorType::Rgb, rgb));
    }

    #[test]
    fn transparent_png_keeps_its_alpha() {
        let image = noise(|i| (i % 256) as u8);
        let mut file = Vec::new();
        image.write_png(&mut file).unwrap();
        assert_eq!(decoded(&file), (37, 11, png::ColorType::Rgba, image.pixels().as_flattened().to_vec()));
    }

    #[test]
    fn full_disk_is_an_error_not_a_panic() {
        let mut buffer = [0u8; 20];
        assert!(noise(|_| 255).write_png(&mut buffer[..]).is_err());
    }
}
